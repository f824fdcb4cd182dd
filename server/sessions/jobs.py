"""What goes into a session's mailbox and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

MAILBOX = 512
"""Commands that may wait for one session before more are refused."""


class Done(msgspec.Struct, frozen=True):
    """The command is in the log as version `v`. `again`: it had been done before, by the same action id."""

    v: int
    durability: str
    again: bool = False


class Refusal(msgspec.Struct, frozen=True):
    """The command was refused; `code` is one of the protocol's."""

    code: str
    text: str
    v: int
    data: dict[str, Any] | None = None
    retry_after: int | None = None


Outcome = Done | Refusal


class Job(msgspec.Struct):
    """One command on its way; `reply` is called exactly once.

    `client` and `n` are the action id's halves ("" and 0 for the system's own).
    """

    by: str
    command: Any
    reply: Callable[[Outcome], None]
    client: str = ""
    n: int = 0
    at: int | None = None
    texts: tuple[tuple[str, bytes], ...] = ()
    base: int | None = None
    """When given, the command holds for exactly this version: on any other it is refused as stale."""
    answered: bool = False

    def answer(self, outcome: Outcome) -> None:
        """Reply, unless that happened already."""
        if not self.answered:
            self.answered = True
            self.reply(outcome)

    @property
    def action(self) -> str:
        return f"{self.client}.{self.n}" if self.client else ""

    @property
    def key(self) -> str:
        """The client half scoped to its seat, as the store remembers it."""
        return f"{self.by}/{self.client}"
