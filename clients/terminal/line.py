"""Plain line mode: a table as lines of text, for pipes, screen readers and any terminal. Knows no rules of any game."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import dustup

from . import show
from .ask import Asker, Cancelled, EndOfInput
from .door import NoInvite, find
from .lines_in import LinesIn, Source
from .offers import answers, with_defaults
from .words import clean, damage_line, odds_line

HELP = """\
A number does what the list shows under it. Other words:
  ?             this help              o             what can be done now
  s             the scene              l [n]         the last n lines of the log (20)
  chat TEXT     say something          post TEXT     tell a piece of the story
  roll 2d6+1    roll dice freely       odds N        the chances of number N
  wait          wait until there is something to decide
  raw {JSON}    send a command as it is, for example raw {"type": "turn.end"}
  quit          leave; your seat stays yours
While you are asked for details: an empty line takes the default, `back` gives up."""

LOG = 500
UNREAD = 1000


class Sink(Protocol):
    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...


async def play(link: str, *, seat_token: str | None = None, session: str | None = None, stdin: Source, stdout: Sink) -> int:
    """Play at a table until `quit` or the end of `stdin`. Returns an exit status: 0, or 1 with the reason written to `stdout`.

    `link` is a join link (its invite is redeemed) or a server's address with `seat_token`; `session` chooses among several tables.
    """

    def say(text: str) -> None:
        stdout.write(text + "\n")
        stdout.flush()

    try:
        door = await find(link, token=seat_token, session=session, say=say)
        async with dustup.connect(door.url, door.token) as client:
            table = await client.join(door.session or _only_session(client), history=50)
            lines = LinesIn(stdin)
            try:
                return await LineMode(client, table, lines, say).run()
            finally:
                lines.close()
    except NoInvite as error:
        say(str(error))
        return 1
    except dustup.DustupError as error:
        say(f"Sorry: {clean(error)}")
        return 1


def _only_session(client: dustup.Client) -> str:
    sessions = [str(each["session"]) for each in client.sessions]
    if len(sessions) == 1:
        return sessions[0]
    if not sessions:
        raise dustup.BadLink("the server does not say which table this token opens: choose one with --session")
    raise dustup.BadLink(f"this token opens several tables, choose one with --session: {', '.join(sessions)}")


class LineMode:
    """One person at one table, in lines. `say` takes one line (or several, with line ends between) to show."""

    def __init__(self, client: dustup.Client, table: dustup.Table, lines: LinesIn, say: Any) -> None:
        self.client = client
        self.table = table
        self.lines = lines
        self.say = say
        self.log: deque[str] = deque(maxlen=LOG)
        self.choices: list[dict[str, Any]] = []
        """What the numbers mean: options, and answers to questions in the same form."""
        self.options_v = 0
        self._unread: deque[Mapping[str, Any]] = deque(maxlen=UNREAD)
        self._news = asyncio.Event()
        self._stirred = True
        self._shown = ""
        self._turns: list[str] = []
        self._asked: set[str] = set()
        self._pending_line: asyncio.Task[str | None] | None = None
        self.asker = Asker(self.next_line, say, self._odds_of)

    async def run(self) -> int:
        """Until `quit` or the end of input (0), or the end of the table (1)."""
        stop = self.table.on_frame(self._on_frame)
        watcher = asyncio.create_task(self._watch_for_the_end())
        try:
            for frame in self.table.recent:
                self.log.extend(show.frame_lines(frame, self.table.view))
            self._scene()
            for line in list(self.log)[-5:]:
                self.say(f"- {line}")
            while await self._one_command(await self.next_line(at_rest=True)):
                pass
            return 0
        except EndOfInput:
            return 0
        finally:
            stop()
            for task in (watcher, self._pending_line):
                if task is not None:
                    task.cancel()
            await asyncio.gather(*(task for task in (watcher, self._pending_line) if task is not None), return_exceptions=True)

    # ---- what comes in

    def _on_frame(self, message: Mapping[str, Any]) -> None:
        self._unread.append(message)
        self._news.set()

    async def _watch_for_the_end(self) -> None:
        seen = self.table.changes
        try:
            while True:
                seen = await self.table.changed(seen)
        except dustup.DustupError:
            self._news.set()

    async def next_line(self, at_rest: bool = False) -> str:
        """The next line typed. Until then everything that happens is shown; at rest also what can be done about it.

        Raises EndOfInput, or the error that ended the table.
        """
        while True:
            await self._show_news(at_rest)
            if self.table.lost is not None:
                raise self.table.lost
            if self._pending_line is None:
                self._pending_line = asyncio.create_task(self.lines.next())
            news = asyncio.create_task(self._news.wait())
            try:
                await asyncio.wait({self._pending_line, news}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                news.cancel()
            if self._pending_line.done():
                line = self._pending_line.result()
                self._pending_line = None
                if line is None:
                    raise EndOfInput
                return line.strip()

    async def _show_news(self, at_rest: bool) -> None:
        while True:
            self._news.clear()
            while self._unread:
                self._show_frame(self._unread.popleft())
            if not at_rest or not self._stirred or self.table.lost is not None:
                return
            self._stirred = False
            await self._show_choices(only_if_new=True)
            if not self._unread:
                return

    def _show_frame(self, message: Mapping[str, Any]) -> None:
        if message.get("t") in ("reset", "joined"):
            self.say("The table was loaded anew" + (f" ({clean(message['reason'])})" if message.get("reason") else "") + ".")
            self._scene()
        for line in show.frame_lines(message, self.table.view):
            self.log.append(line)
            self.say(f"- {line}")
        if message.get("views") or message.get("gone") or message.get("view") is not None:
            self._stirred = True
        turns = show.turn_lines(self.table.view, self.table.seat)
        if turns != self._turns:
            self._turns = turns
            for line in turns:
                self.say(line)

    # ---- what can be done

    async def _show_choices(self, *, only_if_new: bool = False) -> None:
        """Number the answers to open questions and the legal options, and show them."""
        prompts = self.table.prompts_open
        try:
            options = await self.table.options()
        except dustup.Refused as error:
            self.say(f"No options: {clean(error.text)}")
            return
        ids = {prompt["id"] for prompt in prompts}
        offered = [option for option in options if option.get("prompt") is None or option["prompt"] not in ids]
        self.options_v = options.v
        self.choices = [choice for prompt in prompts for choice in answers(prompt)] + offered
        shown = json.dumps([prompts, offered], sort_keys=True)
        if only_if_new and shown == self._shown:
            return
        self._shown = shown
        number = 0
        for prompt in prompts:
            for line in show.prompt_lines(prompt, self.client.now()):
                self.say(line)
            for choice in answers(prompt):
                number += 1
                self.say(f"  {number}. {clean(choice['text'])}")
        if offered:
            self.say("You can:")
        for option in offered:
            number += 1
            self.say("  " + show.option_line(number, option, self.table.view, await self._odds_of(option, option["command"])))
        if not number and not only_if_new:
            self.say("There is nothing for you to decide now.")

    async def _odds_of(self, option: Mapping[str, Any], command: Mapping[str, Any]) -> dict[str, Any] | None:
        """The odds of a command of this option; None when it has none, or details are missing that have no default."""
        if not option.get("odds"):
            return None
        whole = with_defaults(option, command)
        if whole is None:
            return None
        try:
            return await self.table.odds(whole)
        except dustup.Refused:
            return None

    async def _choose(self, number: int) -> None:
        if not 1 <= number <= len(self.choices):
            self.say(f"There is no number {number}; `o` shows the list.")
            return
        option, v = self.choices[number - 1], self.options_v
        command = await self.asker.fill(option)
        await self._do(command, at=None if command.get("type") == "answer" else v)

    async def _odds(self, rest: str) -> None:
        if not rest.isdecimal() or not 1 <= int(rest) <= len(self.choices):
            self.say("Say `odds` and a number of the list; `o` shows it.")
            return
        odds = await self.table.odds(await self.asker.fill(self.choices[int(rest) - 1]))
        self.say(f"{clean(odds.get('text') or 'Chances')}: {odds_line(odds)}")
        if damage := damage_line(odds):
            self.say(f"  Damage {damage}")

    async def _do(self, command: Mapping[str, Any], at: int | None = None) -> None:
        await self.table.do(command, at=at)
        self._stirred = True

    # ---- what is typed

    async def _one_command(self, line: str) -> bool:
        """Do one typed line. False when it was `quit`."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        try:
            if word in ("quit", "exit", "q"):
                return False
            if not line or word == "o":
                await self._show_choices()
            elif line.isdecimal():
                await self._choose(int(line[:9]))
            elif word in ("?", "help"):
                self.say(HELP)
            elif word == "s":
                self._scene()
            elif word == "l":
                for each in list(self.log)[-(int(rest[:6]) if rest.isdecimal() else 20) :]:
                    self.say(f"- {each}")
            elif word == "wait":
                await self._wait()
            elif word == "odds":
                await self._odds(rest)
            elif word in ("chat", "post") and rest:
                await self._do({"type": word, "text": rest})
            elif word == "roll" and rest:
                await self._do({"type": "roll", "notation": rest})
            elif word == "raw" and rest:
                await self._raw(rest)
            else:
                alone = " without more words" if word in ("chat", "post", "roll", "raw") else ""
                self.say(f"I do not know `{clean(word)}`{alone}; ? helps.")
        except Cancelled:
            self.say("Given up.")
        except dustup.Refused as error:
            self._refused(error)
        except (dustup.Unavailable, dustup.BadMessage) as error:
            self.say(f"Sorry: {clean(error)}")
        return True

    def _refused(self, error: dustup.Refused) -> None:
        self.say(f"No: {clean(error.text)}")
        if error.code == "stale":
            self._shown = ""
            self._stirred = True

    async def _raw(self, text: str) -> None:
        try:
            command = json.loads(text)
        except ValueError as error:
            self.say(f"That is not JSON: {clean(error)}")
            return
        if not isinstance(command, dict):
            self.say('A command is a JSON object with a "type".')
            return
        await self._do(command)

    async def _wait(self) -> None:
        """Until there is something to decide, or a fight is over; what happens meanwhile is shown."""
        fights = set(self.table.view.get("encounters", {}))
        while True:
            await self._show_news(at_rest=True)
            if self.choices or not fights <= set(self.table.view.get("encounters", {})):
                return
            if self.table.lost is not None:
                raise self.table.lost
            await self._news.wait()

    def _scene(self) -> None:
        table = self.table
        self._turns = show.turn_lines(table.view, table.seat)
        for line in show.table_lines(table.view, table.seat, table.role, table.ruleset, table.v):
            self.say(line)
        for line in show.scene_lines(table.view, table.seat):
            self.say(line)
