"""Plays the script of this folder with the Python client. README.md says what each step does and writes down."""

from __future__ import annotations

import json
from typing import Any

import dustup

VALUES = {"fraction": 1.5, "huge": 2**53}
Step = dict[str, Any]


async def play(url: str, token: str, session: str, script: list[Step]) -> list[Any]:
    """The transcript: one entry a step, and at the end everything that came to the table."""
    came: list[Any] = []
    async with dustup.connect(url, token) as client:
        player = _Player(client, session, came)
        return [*[_kept(await player.step(step)) for step in script], came]


class _Player:
    def __init__(self, client: dustup.Client, session: str, came: list[Any]) -> None:
        self.client = client
        self.session = session
        self.came = came
        self.table: dustup.Table

    async def step(self, step: Step) -> Any:
        try:
            return await self._do(step)
        except dustup.Refused as error:
            return {"error": "Refused", "code": error.code, "text": error.text, "v": error.v, "data": error.data}
        except dustup.DustupError as error:
            return {"error": type(error).__name__}

    async def _do(self, step: Step) -> Any:
        if "join" in step:
            return await self._join(**step["join"])
        if "again" in step:
            await self.table.leave()
            return await self._join()
        if "do" in step:
            extra = {"value": VALUES[step["value"]]} if "value" in step else {}
            return _ack(await self.table.do(step["do"], at=step.get("at"), **extra))
        for kind in ("salt", "chat", "post"):
            if kind in step:
                return _ack(await getattr(self.table, kind)(step[kind]))
        if "options" in step:
            options = await self.table.options()
            return {"v": options.v, "options": list(options)}
        if "odds" in step:
            command = _first(await self.table.options())
            return command and await self.table.odds(command)
        if "history" in step:
            page = await self.table.history(**step["history"])
            return {"more": page.more, "frames": [_bare(frame) for frame in page]}
        pilot = step["pilot"]
        report = await dustup.Pilot(self.table, pilot["seed"]).run(max_actions=pilot.get("max"))
        counts = {"actions": report.actions, "answers": report.answers, "refused": report.refused, "why": report.why}
        return {"report": counts, "v": self.table.v, "view": self.table.view}

    async def _join(self, history: int = 0) -> Any:
        self.table = table = await self.client.join(self.session, history=history)
        table.on_frame(lambda frame: self.came.append(_bare(frame)))
        who = {"seat": table.seat, "role": table.role, "ruleset": table.ruleset, "variant": table.variant, "epoch": table.epoch}
        recent = [_bare(frame) for frame in table.recent]
        return {**who, "v": table.v, "recent": recent, "prompts": table.prompts_open, "view": table.view}


def _first(options: dustup.Options) -> dict[str, Any] | None:
    option = next((each for each in options if each.get("odds")), None)
    if option is None:
        return None
    command = dict(option["command"])
    for param in option.get("params", []):
        choices = param.get("choices")
        command[param["name"]] = choices[0]["value"] if choices else param.get("default")
    return command


def _ack(ack: dustup.Ack) -> Any:
    return {"v": ack.v, "durability": ack.durability, "again": ack.again}


def _bare(frame: dict[str, Any]) -> Any:
    bare = {key: value for key, value in frame.items() if key not in ("t", "stamp")}
    if bare.get("events"):
        bare["events"] = [{key: value for key, value in event.items() if key not in ("body_id", "sha256")} for event in bare["events"]]
    return _kept(bare)


def _kept(value: Any) -> Any:
    """A copy: the view that a step or a frame shows lives on, and the next frame changes it."""
    return json.loads(json.dumps(value))
