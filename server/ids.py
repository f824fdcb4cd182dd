"""Names and random marks: how they are drawn and what they may look like.

Everything here comes from the operating system's random source. Ids that stand between a stranger and a table (session ids, token
ids, invite codes) carry at least 80 bits; stamps and epochs are 64-bit marks that only have to differ.
"""

from __future__ import annotations

import base64
import os
import re
from typing import Final

ALLOWED: Final = "1 to 64 of the characters A-Z a-z 0-9 _ . : -"
CODE_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
CODE_LENGTH: Final = 16

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)
_SESSION: Final = re.compile(r"[a-z2-7]{16}", re.ASCII)
_MARK: Final = re.compile(r"[0-9a-f]{16}", re.ASCII)
_CODE: Final = re.compile(f"[{CODE_ALPHABET}]{{{CODE_LENGTH}}}", re.ASCII)
_CODE_LOOKALIKES: Final = str.maketrans({"o": "0", "i": "1", "l": "1", "-": None, " ": None})
_STAMP_BLOCK: Final = 1024

_stamps: list[str] = []


def stamp() -> str:
    """A fresh 64-bit mark for one log entry, 16 hex digits. Drawn in blocks: a system call per entry would cost more than the mark."""
    try:
        return _stamps.pop()
    except IndexError:
        drawn = os.urandom(8 * _STAMP_BLOCK).hex()
        block = [drawn[i : i + 16] for i in range(0, len(drawn), 16)]
        last = block.pop()
        _stamps.extend(block)
        return last


# A forked child would otherwise hand out the very stamps its parent is about to use.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stamps.clear)


def epoch() -> str:
    """A fresh id for a lineage of the log, 16 hex digits."""
    return os.urandom(8).hex()


def session_id() -> str:
    """A fresh session id: 16 characters of lower-case base32, 80 bits, so that a table's address cannot be guessed."""
    return base64.b32encode(os.urandom(10)).decode("ascii").lower()


def token_id() -> str:
    """A fresh token id (`jti`), 32 hex digits."""
    return os.urandom(16).hex()


def text_id() -> str:
    """A fresh id for one chat or post body, 16 hex digits. Random, so it tells neither order nor count."""
    return os.urandom(8).hex()


def connection_id() -> str:
    """A fresh short name for one connection, 8 hex digits. For logs and metrics only; it protects nothing."""
    return os.urandom(4).hex()


def invite_code() -> str:
    """A fresh invite code, 80 bits as 16 characters without look-alikes, in the form people read out: `k7pw-3m2x-...`."""
    bits = int.from_bytes(os.urandom(10), "big")
    letters = "".join(CODE_ALPHABET[(bits >> shift) & 31] for shift in range(75, -5, -5))
    return "-".join(letters[i : i + 4] for i in range(0, CODE_LENGTH, 4))


def canonical_code(typed: str) -> str | None:
    """The one spelling of an invite code a person typed: case, dashes, blanks and o/0, i/l/1 mix-ups forgiven. None if it cannot be one."""
    if len(typed) > 4 * CODE_LENGTH:
        return None
    plain = typed.lower().translate(_CODE_LOOKALIKES)
    return plain if _CODE.fullmatch(plain) else None


def is_id(value: str) -> bool:
    """Whether `value` may name anything at all (seats, persons, combatants, clients, packs ...)."""
    return _ID.fullmatch(value) is not None


def is_session_id(value: str) -> bool:
    """Whether `value` has the form of a session id."""
    return _SESSION.fullmatch(value) is not None


def is_mark(value: str) -> bool:
    """Whether `value` has the form of a stamp or an epoch."""
    return _MARK.fullmatch(value) is not None


def check_id(value: str, what: str = "id") -> str:
    """`value`, or ValueError naming `what` and the characters allowed. The sentence repeats at most 64 characters, escaped."""
    if not is_id(value):
        raise ValueError(f"{what} {value[:64]!a} is not allowed: use {ALLOWED}")
    return value


def check_session_id(value: str) -> str:
    """`value`, or ValueError saying what a session id looks like."""
    if not is_session_id(value):
        raise ValueError(f"session {value[:64]!a} is not a session id: it has 16 of the characters a-z 2-7")
    return value
