"""A client of the SDK, which re-sends, reconnects and resumes by itself: what it reports goes into the same history."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import dustup
from dustup.errors import DustupError, Refused
from tests.chaos.history import Acked, History, Saw, View, now


class LibraryPlayer:
    """One person at one table, by `dustup` alone."""

    def __init__(self, history: History, url: str, session: str, seat: str, token: str, seed: str) -> None:
        self.session, self.seat = session, seat
        self._client = dustup.Client(url, token, patience=120.0, wait=20.0, longest_delay=1.0, rng=random.Random(seed))
        self._history, self._rng = history, random.Random(seed)
        self._table: dustup.Table | None = None
        self._told = 0

    @property
    def name(self) -> str:
        return self._client.id

    @property
    def v(self) -> int:
        return self._sat.v

    @property
    def _sat(self) -> dustup.Table:
        assert self._table is not None, "not joined"
        return self._table

    async def play(self, over: asyncio.Event) -> None:
        """Act until it is over. Whatever the library does not bear by itself is raised."""
        await self._client.open()
        self._table = await self._client.join(self.session)
        self._table.on_frame(self._saw)
        while not over.is_set():
            try:
                await self._act()
            except Refused:
                pass  # somebody was faster
            await asyncio.sleep(self._rng.uniform(0.1, 0.6))

    async def _act(self) -> None:
        prompts = self._sat.prompts_open
        if prompts:
            prompt = self._rng.choice(prompts)
            await self._do({"type": "answer", "prompt": prompt["id"], "choice": self._rng.choice(prompt["choices"])["value"]})
            return
        options = [one for one in await self._sat.options() if not one["command"]["type"].startswith(("gm.", "seat.", "dice.", "test."))]
        plain = [one for one in options if not one.get("params")]
        if plain and self._rng.random() < 0.7:
            await self._do(self._rng.choice(plain)["command"])
        else:
            await self._do({"type": "chat", "text": f"a word of {self.seat}"})

    async def _do(self, command: dict[str, Any]) -> int:
        since = now()
        ack = await self._sat.do(command)
        assert ack.v is not None
        self._history.note(
            Acked(
                at=now(),
                session=self.session,
                client=self.name,
                seat=self.seat,
                link=0,
                id=f"{self.name}.",
                v=ack.v,
                durability=ack.durability or "",
                again=ack.again,
                since=since,
            )
        )
        return ack.v

    def _saw(self, message: dict[str, Any]) -> None:
        how = "frame" if message["t"] == "frame" else "reset"
        table = self._sat
        self._history.note(
            Saw(
                at=now(),
                session=self.session,
                client=self.name,
                seat=self.seat,
                link=0,
                how=how,
                epoch=table.epoch,
                v=table.v,
                stamp=table.stamp,
            )
        )

    async def say(self, text: str) -> int:
        return await self._do({"type": "chat", "text": text})

    async def catch_up(self, v: int, within_s: float) -> None:
        """Wait until the view has reached version `v`. Raises TimeoutError."""
        await self._sat.wait_for(lambda view: self._sat.v >= v, timeout=within_s)

    def final(self) -> View:
        table = self._sat
        return View(
            client=self.name, session=self.session, seat=self.seat, epoch=table.epoch, v=table.v, stamp=table.stamp, view=table.view
        )

    async def hang_up(self) -> None:
        try:
            await self._client.close()
        except DustupError:
            pass
