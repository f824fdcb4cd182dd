"""Dice that anyone can check: scheme `sha256-ctr-1`, the sources that draw by it, and the check of what was rolled.

A stream ("open" or "hidden") has dice epochs numbered by `index`, each with its own seed and commitment, and one counter `n`
that runs from 1 through all of them; every roll, physical and kept ones included, takes the next `n`. docs/dice.md tells a
stranger how to check a die.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b32encode
from collections.abc import Iterable, Mapping, Sequence
from struct import Struct as Layout
from types import TracebackType
from typing import Literal, Protocol

import msgspec

SCHEME = "sha256-ctr-1"
MAX_COUNT = 1_000
MAX_SIDES = 1_000_000_000
MIN_MASTER = 16

Salts = tuple[tuple[str, str], ...]
"""Pairs (seat id, salt)."""

_counter = Layout(">QI").pack
_u32 = Layout(">I").pack
_words = Layout(">8I").unpack
_sha256 = hashlib.sha256


def faces(key: bytes, n: int, count: int, sides: int) -> tuple[int, ...]:
    """The `count` faces (1..`sides`) of roll `n` under `key`, in order.

    Block i is SHA-256(key, u64be(n), u32be(i)), read as bytes (as u32be words beyond 256 sides); values in the last,
    incomplete run of `sides` are skipped, so every face is exactly equally likely.
    Raises ValueError unless 0 <= n < 2**64, 1 <= count <= 1000 and 2 <= sides <= 1_000_000_000.
    """
    if not 0 <= n < 2**64:
        raise ValueError(f"roll number {n} is not an unsigned 64-bit integer")
    if not 1 <= count <= MAX_COUNT:
        raise ValueError(f"cannot roll {count} dice at once: 1 to {MAX_COUNT}")
    if not 2 <= sides <= MAX_SIDES:
        raise ValueError(f"a die cannot have {sides} sides: 2 to {MAX_SIDES}")
    small = sides <= 256
    limit = 256 - 256 % sides if small else 2**32 - 2**32 % sides
    drawn: list[int] = []
    block = 0
    while True:
        digest = _sha256(key + _counter(n, block)).digest()
        for value in digest if small else _words(digest):
            if value < limit:
                drawn.append(value % sides + 1)
                if len(drawn) == count:
                    return tuple(drawn)
        block += 1


def commitment(server_seed: bytes) -> str:
    """What is published before play: SHA-256 of the seed, in hex."""
    return _sha256(server_seed).hexdigest()


def table_salt(pairs: Iterable[tuple[str, str]]) -> bytes:
    """The salt of a table from its (seat id, salt) pairs, in any order; 32 zero bytes when there are none.

    Raises ValueError when a seat is named twice or a text has no UTF-8 form.
    """
    encoded = sorted((seat.encode(), salt.encode()) for seat, salt in pairs)
    if not encoded:
        return bytes(32)
    if len({seat for seat, _ in encoded}) != len(encoded):
        raise ValueError("a seat has one salt, this list names a seat twice")
    return _sha256(b"".join(_prefixed(text) for pair in encoded for text in pair)).digest()


def stream_key(server_seed: bytes, pairs: Iterable[tuple[str, str]]) -> bytes:
    """The 32 byte key under which the faces of one dice epoch are drawn. Raises ValueError like table_salt."""
    return _sha256(server_seed + table_salt(pairs)).digest()


def _prefixed(text: bytes) -> bytes:
    return _u32(len(text)) + text


def _ident(digest: bytes) -> str:
    return b32encode(digest[:10]).decode().lower()[:13]


class Dice(Protocol):
    """Where the engine gets its faces and ids from: an argument of every step, never a global."""

    def faces(self, stream: str, index: int, salts: Salts, n: int, count: int, sides: int) -> tuple[int, ...]:
        """The `count` faces of roll `n` in dice epoch `index` of `stream`."""

    def commitment(self, stream: str, index: int) -> str:
        """The published commitment of a dice epoch, hex."""

    def reveal(self, stream: str, index: int) -> str:
        """The seed of a dice epoch, hex. Only for one that takes no more rolls."""

    def ident(self, n: int) -> str:
        """The n-th id of the session: 13 characters of lower-case base32 that tell neither order nor count."""


class SeededDice:
    """The dice of live play. `master` (at least 16 secret bytes) and `epoch` (the lineage of the log) fix every seed and id.

    Seeds derive one way, so an opened one tells nothing of the master or of another seed. Raises ValueError for a short master.
    """

    __slots__ = ("_epoch", "_keys", "_master")

    _CACHED = 64

    def __init__(self, master: bytes, epoch: str) -> None:
        if len(master) < MIN_MASTER:
            raise ValueError(f"a master secret needs at least {MIN_MASTER} bytes, not {len(master)}")
        self._master = master
        self._epoch = epoch
        self._keys: dict[tuple[str, int, Salts], bytes] = {}

    def __repr__(self) -> str:
        return f"SeededDice(<secret>, epoch={self._epoch!r})"

    def _derive(self, purpose: bytes, *parts: bytes) -> bytes:
        message = b"".join(_prefixed(part) for part in (purpose, self._epoch.encode(), *parts))
        return hmac.digest(self._master, message, "sha256")

    def _seed(self, stream: str, index: int) -> bytes:
        return self._derive(b"dustup/seed", stream.encode(), index.to_bytes(8, "big"))

    def faces(self, stream: str, index: int, salts: Salts, n: int, count: int, sides: int) -> tuple[int, ...]:
        wanted = (stream, index, salts)
        key = self._keys.get(wanted)
        if key is None:
            if len(self._keys) >= self._CACHED:
                self._keys.clear()
            key = self._keys[wanted] = stream_key(self._seed(stream, index), salts)
        return faces(key, n, count, sides)

    def commitment(self, stream: str, index: int) -> str:
        return commitment(self._seed(stream, index))

    def reveal(self, stream: str, index: int) -> str:
        return self._seed(stream, index).hex()

    def ident(self, n: int) -> str:
        return _ident(self._derive(b"dustup/ident", n.to_bytes(8, "big")))


class ScriptError(AssertionError):
    """A test's script of faces and the code under test disagree."""


class ScriptExhausted(ScriptError):
    """A roll wanted more faces than the script has left."""


class ScriptMismatch(ScriptError):
    """The next face does not exist on the die that was rolled."""


class ScriptUnused(ScriptError):
    """The script has faces that nobody rolled."""


class ScriptedDice:
    """Dice for tests: the faces of `script` in order, whatever the stream. A roll the script cannot serve takes nothing from it.

    `idents` names chosen ids by number; the others are fixed and look unordered. As a context manager it calls finish() on the
    way out, unless an exception is already on its way.
    """

    def __init__(self, script: Iterable[int] = (), idents: Mapping[int, str] | None = None) -> None:
        self._script = tuple(script)
        self._used = 0
        self._idents = dict(idents or {})

    def __repr__(self) -> str:
        return f"ScriptedDice({list(self.left)} left of {len(self._script)})"

    def __enter__(self) -> ScriptedDice:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.finish()

    @property
    def left(self) -> tuple[int, ...]:
        """The faces not rolled yet."""
        return self._script[self._used :]

    def finish(self) -> None:
        """Raises ScriptUnused when faces are left."""
        if self.left:
            raise ScriptUnused(f"{len(self.left)} scripted faces were never rolled: {list(self.left)}")

    def faces(self, stream: str, index: int, salts: Salts, n: int, count: int, sides: int) -> tuple[int, ...]:
        drawn = self.left[:count]
        asked = f"roll {n} of the {stream} stream ({count}d{sides})"
        if len(drawn) < count:
            raise ScriptExhausted(f"{asked} needs {count} faces, the script has {list(drawn)} left")
        for face in drawn:
            if not 1 <= face <= sides:
                raise ScriptMismatch(f"{asked} cannot show {face}; next in the script: {list(drawn)}")
        self._used += count
        return drawn

    def _seed(self, stream: str, index: int) -> bytes:
        return _sha256(f"scripted seed {stream} {index}".encode()).digest()

    def commitment(self, stream: str, index: int) -> str:
        return commitment(self._seed(stream, index))

    def reveal(self, stream: str, index: int) -> str:
        return self._seed(stream, index).hex()

    def ident(self, n: int) -> str:
        return self._idents.get(n) or _ident(_sha256(f"scripted ident {n}".encode()).digest())


class RolledFact(msgspec.Struct, frozen=True, omit_defaults=True):
    """One roll as events and entries name it.

    `faces` begin with those kept from voided rolls of the same stream: `kept` lists (n of the voided roll, how many of its faces
    serve here); each voided face serves once, in order. The rest are fresh. `of` is the roll this one re-rolls (0: none),
    `positions` which of its dice. `proven` is false when the fresh faces did not come from the stream: a player entered them.
    """

    stream: str
    index: int
    n: int
    sides: int
    faces: tuple[int, ...]
    purpose: str
    actor: str = ""
    of: int = 0
    positions: tuple[int, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()
    proven: bool = True

    @property
    def fresh(self) -> tuple[int, ...]:
        """The faces drawn (or entered) for this roll, without the kept ones."""
        return self.faces[sum(count for _, count in self.kept) :]


class RecordMismatch(Exception):
    """A re-execution asked the dice for something the entry did not record."""


class RecordedDice:
    """Dice that repeat one entry, for its audit: they answer what was recorded and refuse everything else with RecordMismatch.

    `idents` are the entry's ids in the order they were drawn (an entry does not say their numbers: the first one asked for is the
    first one recorded); `commitments` and `reveals` map (stream, index) to hex.
    """

    def __init__(
        self,
        rolls: Iterable[RolledFact],
        idents: Sequence[str],
        commitments: Mapping[tuple[str, int], str],
        reveals: Mapping[tuple[str, int], str],
    ) -> None:
        self._rolls: dict[tuple[str, int], RolledFact] = {}
        for fact in rolls:
            if self._rolls.setdefault((fact.stream, fact.n), fact) is not fact:
                raise RecordMismatch(f"roll {fact.n} of the {fact.stream} stream is recorded twice")
        self._idents = idents
        self._first_ident: int | None = None
        self._commitments = commitments
        self._reveals = reveals

    def faces(self, stream: str, index: int, salts: Salts, n: int, count: int, sides: int) -> tuple[int, ...]:
        fact = self._rolls.get((stream, n))
        if fact is None:
            raise RecordMismatch(f"no roll {n} of the {stream} stream is recorded")
        recorded = (fact.index, len(fact.fresh), fact.sides, fact.proven)
        if recorded != (index, count, sides, True):
            raise RecordMismatch(
                f"roll {n} of the {stream} stream is recorded as {len(fact.fresh)} {'' if fact.proven else 'unproven '}fresh dice of "
                f"{fact.sides} sides in dice epoch {fact.index}; asked for {count} of {sides} sides in dice epoch {index}"
            )
        return fact.fresh

    def commitment(self, stream: str, index: int) -> str:
        return self._recorded(self._commitments, stream, index, "commitment")

    def reveal(self, stream: str, index: int) -> str:
        return self._recorded(self._reveals, stream, index, "opened seed")

    def ident(self, n: int) -> str:
        if self._first_ident is None:
            self._first_ident = n
        at = n - self._first_ident
        if not 0 <= at < len(self._idents):
            raise RecordMismatch(f"{len(self._idents)} ids are recorded, one more was asked for (number {n} of the session)")
        return self._idents[at]

    @staticmethod
    def _recorded(known: Mapping[tuple[str, int], str], stream: str, index: int, what: str) -> str:
        if (stream, index) not in known:
            raise RecordMismatch(f"no {what} of dice epoch {index} of the {stream} stream is recorded")
        return known[stream, index]


class Reveal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one dice epoch: its commitment, its seed (hex, "" while unrevealed) and the salts it closed with."""

    stream: str
    index: int
    commitment: str
    seed: str = ""
    salts: Salts = ()


class Difference(msgspec.Struct, frozen=True):
    """The first thing that is not as it should be. `n` is 0 when it is about a dice epoch rather than a roll."""

    stream: str
    n: int
    what: str
    expected: str
    found: str


class DiceReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a check of rolls found.

    Counts of rolls, each in one of three: `checked` recomputed from a seed, `unproven` with faces a player entered, `waiting`
    for a seed to be revealed or for a voided roll that is not listed. `skipped` counts the roll numbers not listed.
    The verdict is "differs" when anything differs, else "not checkable yet" when a roll waits, else "ok".
    """

    verdict: Literal["ok", "differs", "not checkable yet"]
    checked: int = 0
    unproven: int = 0
    waiting: int = 0
    skipped: int = 0
    difference: Difference | None = None


def verify_rolls(rolls: Iterable[RolledFact], reveals: Iterable[Reveal], *, whole: bool = False) -> DiceReport:
    """Check rolls, in log order, against the seeds that were committed to before them. Never raises, whatever the facts say.

    `whole` says that the rolls are all there were, as in a full log: then a skipped `n` (a roll made and thrown away) differs.
    """
    check = _Check(whole)
    try:
        for reveal in reveals:
            check.epoch(reveal)
        for fact in rolls:
            check.roll(fact)
    except _Differs as found:
        return check.report(found.difference)
    return check.report(None)


class _Differs(Exception):
    def __init__(self, stream: str, n: int, what: str, expected: object, found: object) -> None:
        self.difference = Difference(stream, n, what, str(expected), str(found))


_CHECKED, _UNPROVEN, _WAITING = range(3)
"""How well a roll's faces are known, best first: a roll that keeps faces is known as badly as its worst source."""


class _Seen:
    """A roll already looked at: what it was for, the faces that no later roll has kept yet, and how well they are known."""

    def __init__(self, fact: RolledFact, known: int) -> None:
        self.cause = (fact.actor, fact.purpose, fact.sides)
        self.left = fact.faces
        self.known = known


class _Check:
    def __init__(self, whole: bool) -> None:
        self._whole = whole
        self._epochs: dict[tuple[str, int], Reveal] = {}
        self._keys: dict[tuple[str, int], bytes] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._seen: dict[tuple[str, int], _Seen] = {}
        self._counts = [0, 0, 0]
        self._skipped = 0

    def report(self, difference: Difference | None) -> DiceReport:
        verdict: Literal["ok", "differs", "not checkable yet"] = "ok"
        if difference is not None:
            verdict = "differs"
        elif self._counts[_WAITING]:
            verdict = "not checkable yet"
        checked, unproven, waiting = self._counts
        return DiceReport(verdict, checked, unproven, waiting, self._skipped, difference)

    def epoch(self, reveal: Reveal) -> None:
        place = (reveal.stream, reveal.index)
        about = f"dice epoch {reveal.index}"
        if self._epochs.setdefault(place, reveal) != reveal:
            raise _Differs(reveal.stream, 0, f"{about} is described twice", self._epochs[place], reveal)
        if not reveal.seed:
            return
        try:
            seed = bytes.fromhex(reveal.seed)
            self._keys[place] = stream_key(seed, reveal.salts)
        except ValueError as error:
            raise _Differs(reveal.stream, 0, f"seed or salts of {about}", "hex digits, and one salt a seat", error) from None
        if commitment(seed) != reveal.commitment:
            raise _Differs(reveal.stream, 0, f"commitment of {about}", reveal.commitment, commitment(seed))

    def roll(self, fact: RolledFact) -> None:
        self._order(fact)
        if not fact.faces or any(not 1 <= face <= fact.sides for face in fact.faces):
            raise _Differs(fact.stream, fact.n, "faces", f"one or more of 1 to {fact.sides}", list(fact.faces))
        known = max(self._kept(fact), self._fresh(fact))
        self._seen[fact.stream, fact.n] = _Seen(fact, known)
        self._counts[known] += 1

    def _order(self, fact: RolledFact) -> None:
        index, n = self._last.get(fact.stream, (0, 0))
        skipped = fact.n - n - 1
        if skipped < 0 or (skipped and self._whole):
            raise _Differs(fact.stream, fact.n, "roll number", n + 1, fact.n)
        if fact.index < index:
            raise _Differs(fact.stream, fact.n, "dice epoch", index, fact.index)
        self._skipped += skipped
        self._last[fact.stream] = (fact.index, fact.n)

    def _kept(self, fact: RolledFact) -> int:
        """Check the faces kept from voided rolls and take them off those; answers how well they are known."""
        position, known = 0, _CHECKED
        for voided, count in fact.kept:
            found = fact.faces[position : position + max(count, 0)]
            position += len(found)
            source = self._seen.get((fact.stream, voided))
            about = f"faces kept from roll {voided}"
            if not found or len(found) != count or voided >= fact.n or (source is None and self._whole):
                raise _Differs(fact.stream, fact.n, about, "one or more faces of an earlier roll", f"{count} of {list(fact.faces)}")
            if source is None:
                known = _WAITING
                continue
            cause = (fact.actor, fact.purpose, fact.sides)
            if source.cause != cause:
                raise _Differs(fact.stream, fact.n, f"actor, purpose and sides of {about}", list(source.cause), list(cause))
            if source.left[:count] != found:
                raise _Differs(fact.stream, fact.n, about, list(source.left[:count]), list(found))
            source.left = source.left[count:]
            known = max(known, source.known)
        return known

    def _fresh(self, fact: RolledFact) -> int:
        """Recompute the fresh faces; answers how well they are known."""
        fresh = fact.fresh
        key = self._keys.get((fact.stream, fact.index))
        if not fresh:
            return _CHECKED
        if not fact.proven:
            return _UNPROVEN
        if key is None:
            return _WAITING
        try:
            expected = faces(key, fact.n, len(fresh), fact.sides)
        except ValueError as error:
            raise _Differs(fact.stream, fact.n, "roll", "a roll the scheme knows", error) from None
        if expected != fresh:
            raise _Differs(fact.stream, fact.n, "faces", list(expected), list(fresh))
        return _CHECKED
