"""Export files: a session's whole log as one stream of msgpack objects that says itself whether it is complete.

The first object is the header (a map with `format`), then follow pairs [kind, body]: "entry" (an entry of the log, byte for byte as it is
stored), "text" (what a chat or post entry said), "seed" (only for a host who moves a table), and last "end" with counts and the SHA-256 of
every byte before it. docs/http.md tells the format to strangers.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]  # it ships no types
import msgspec

import engine
from engine import Entry, Reveal
from engine.replay import header_of
from server import ids
from server.store import Store

FORMAT: Final = "dustup.export"
VERSION: Final = 1
MAX_BYTES: Final = 256 * 1024 * 1024
MAX_OBJECT: Final = 8 * 1024 * 1024
MAX_ENTRIES: Final = 1_000_000
CHUNK: Final = 64 * 1024
PAGE: Final = 500
SALT: Final = 16
"""Characters of salt in front of a stored text (server.sessions.texts)."""

_encode: Final = msgspec.msgpack.Encoder().encode


class ExportError(ValueError):
    """A session that cannot be exported, or a file that cannot be used. `text` says what is wrong, where, and what to try."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text: Final = text


class ExportHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What an export is of. `v` and `stamp` are its last entry's; times are ms UTC; `epochs` are the log's lineages, the present one
    last."""

    format: str
    version: int
    session: str
    ruleset: str
    variant: str = ""
    engine: str = ""
    name: str = ""
    epoch: str
    epochs: tuple[str, ...] = ()
    v: int
    stamp: str
    created: int = 0
    exported: int = 0
    packs: tuple[str, ...] = ()
    """Hashes of the content packs the log refers to. No ruleset has packs outside its code yet, so none is embedded yet."""


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """An export in memory: the decoded entries, their bytes (`raw`, one for one), what was said by text id, with the salts of its hashes.

    `seed` is the host's dice secret, present only in an export made to move a table: whoever has it knows every die to come.
    """

    header: ExportHeader
    entries: tuple[Entry, ...]
    raw: tuple[bytes, ...] = ()
    texts: Mapping[str, str] = {}
    salts: Mapping[str, str] = {}
    seed: bytes | None = None

    def __repr__(self) -> str:
        return f"Export({self.header.session!r}, v={self.header.v}, seed={'[hidden]' if self.seed else None})"

    @property
    def epoch(self) -> str:
        """The lineage of the log."""
        return self.header.epoch

    @property
    def reveals(self) -> list[Reveal]:
        """What is known of every dice epoch; with the seed on board, the unrevealed ones too."""
        return [*engine.reveals_of(self.entries), *(held_reveals(self.entries, self.seed, self.header.epochs) if self.seed else ())]

    def stored_text(self, text_id: str) -> bytes | None:
        """A text as the store keeps it, salt first; None when it was erased."""
        text = self.texts.get(text_id)
        return None if text is None else (self.salts[text_id] + text).encode()


class _Text(msgspec.Struct, frozen=True):
    id: str
    salt: str
    text: str


class _Seed(msgspec.Struct, frozen=True):
    secret: str


class _End(msgspec.Struct, frozen=True):
    entries: int
    texts: int
    sha256: str


def held_reveals(entries: Iterable[Entry], secret: bytes, epochs: Iterable[str]) -> list[Reveal]:
    """Seeds that the log has not revealed and the host can derive from its secret: those that fit their published commitment."""
    salts: dict[tuple[str, int], tuple[tuple[str, str], ...]] = {}
    for entry in entries:
        for change in entry.changes:
            if change.kind == "table":
                for stream in ("open", "hidden"):
                    fields = change.fields.get(stream)
                    if isinstance(fields, Mapping) and fields.get("index"):
                        salts[stream, fields["index"]] = tuple((one[0], one[1]) for one in fields.get("salts", ()))
    found: list[Reveal] = []
    known = engine.reveals_of(entries)
    for lineage in epochs:
        dice = engine.SeededDice(secret, lineage)
        for one in known:
            if not one.seed and dice.commitment(one.stream, one.index) == one.commitment:
                held = salts.get((one.stream, one.index), ())
                found.append(msgspec.structs.replace(one, seed=dice.reveal(one.stream, one.index), salts=held))
    return found


# --- writing ---------------------------------------------------------------------------------------------------------------


def _pair(kind: str, body: bytes) -> bytes:
    return b"\x92" + _encode(kind) + body


def bodies_of(entry: Entry) -> list[str]:
    """The ids of the texts that an entry refers to."""
    return [event.body for event in entry.events if event.body]


async def header_for(store: Store, session_id: str, exported_ms: int = 0) -> ExportHeader:
    """What an export made now would say in its header. Raises ExportError when there is no such session, StoreUnavailable."""
    loaded = await store.load(session_id) if ids.is_id(session_id) else None
    first = await store.entries(session_id, 0, 1) if loaded is not None else []
    if loaded is None or not first:
        raise ExportError(f"There is no table {session_id[:64]!a} here.")
    meta = loaded.meta
    header = header_of(engine.decode_entry(first[0][1]))
    before = tuple(one for one in meta.get("epochs", "").split() if ids.is_mark(one))
    return ExportHeader(
        format=FORMAT,
        version=VERSION,
        session=session_id,
        ruleset=header.ruleset,
        variant=header.variant,
        engine=header.engine,
        name=meta.get("name", ""),
        epoch=meta["epoch"],
        epochs=(*before, meta["epoch"]),
        v=int(meta["v"]),
        stamp=meta["stamp"],
        created=int(meta.get("created") or 0),
        exported=exported_ms,
        packs=header.packs,
    )


async def read_pages(store: Store, header: ExportHeader) -> AsyncIterator[tuple[list[tuple[bytes, Entry]], dict[str, bytes]]]:
    """The log up to the header's `v`, page by page, with the texts of each page.

    Raises ExportError when the log went another way meanwhile, StoreUnavailable.
    """
    at, stamp = 0, ""
    while at < header.v:
        found = await store.entries(header.session, at, min(PAGE, header.v - at))
        page = [(data, engine.decode_entry(data)) for _, data in found]
        if not page or page[0][1].v != at + 1:
            raise ExportError(f"The log has no entry {at + 1}; was the table deleted meanwhile?")
        wanted = [body for _, entry in page for body in bodies_of(entry)]
        texts = await store.texts(header.session, wanted) if wanted else {}
        at, stamp = page[-1][1].v, page[-1][1].stamp
        yield page, {text_id: body for text_id, body in texts.items() if body is not None}
    if stamp != header.stamp:
        raise ExportError("The log lost entries while it was read; export it again.")


async def export_session(store: Store, session_id: str, *, hidden: bool, seed: bool = False, exported_ms: int = 0) -> AsyncIterator[bytes]:
    """The bytes of an export, in chunks. Entries committed after the first chunk are not in it.

    `hidden` must be True: a log without what is hidden could neither be followed nor checked, so there is no such export, and whoever may
    not see hidden things may not have one. `seed` adds the host's dice secret, for moving a table to another server and nothing else.
    Raises ExportError, StoreUnavailable; a stream that broke off has no "end" and is refused by `load_export`.
    """
    if not hidden:
        raise ExportError("An export holds everything that is hidden at the table; without it the log could not be checked.")
    header = await header_for(store, session_id, exported_ms)
    digest, texts = hashlib.sha256(), 0
    buffer = bytearray(_encode(header))
    async for page, bodies in read_pages(store, header):
        for data, entry in page:
            buffer += _pair("entry", data)
            for text_id in bodies_of(entry):
                body = bodies.pop(text_id, None)
                if body is not None:
                    texts += 1
                    whole = body.decode("utf-8", "replace")
                    buffer += _pair("text", _encode(_Text(text_id, whole[:SALT], whole[SALT:])))
            if len(buffer) >= CHUNK:
                digest.update(buffer)
                yield bytes(buffer)
                buffer.clear()
    if seed:
        secret = await store.seed(session_id)
        if secret is None:
            raise ExportError(f"The table {session_id} has no dice secret here.")
        buffer += _pair("seed", _encode(_Seed(secret.hex())))
    digest.update(buffer)
    yield bytes(buffer) + _pair("end", _encode(_End(header.v, texts, digest.hexdigest())))


# --- reading ---------------------------------------------------------------------------------------------------------------


def load_export(source: Path | str | bytes, *, max_bytes: int = MAX_BYTES) -> Export:
    """Read an export, from a path or from bytes, with bounded buffers.

    Raises ExportError that says what is wrong and where (cut off, changed, not an export, from a newer version, too large), and OSError.
    What the log says is not judged here: that is `server.verify`.
    """
    if isinstance(source, bytes):
        return _load(source[at : at + CHUNK] for at in range(0, len(source), CHUNK)) if len(source) <= max_bytes else _too_large(max_bytes)
    with Path(source).open("rb") as file:
        return _load(_bounded(iter(lambda: file.read(CHUNK), b""), max_bytes))


def _too_large(max_bytes: int) -> Any:
    raise ExportError(f"The export is larger than {max_bytes // 1024 // 1024} MiB.")


def _bounded(chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    seen = 0
    for chunk in chunks:
        seen += len(chunk)
        if seen > max_bytes:
            _too_large(max_bytes)
        yield chunk


def _objects(chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Every object's bytes, with where it is. Nothing is built from an object before all its bytes are there."""
    unpacker: Any = msgpack.Unpacker(max_buffer_size=MAX_OBJECT + 2 * CHUNK)
    pending, base, number = bytearray(), 0, 1
    for chunk in chunks:
        pending += chunk
        try:
            unpacker.feed(chunk)
            while True:
                where = f"object {number}, byte {base}"
                unpacker.skip()
                size = unpacker.tell() - base
                yield where, bytes(pending[:size])
                del pending[:size]
                base, number = base + size, number + 1
        except msgpack.OutOfData:
            if len(pending) > MAX_OBJECT:
                raise ExportError(f"At {where} begins an object of more than {MAX_OBJECT // 1024 // 1024} MiB.") from None
        except (ValueError, msgpack.UnpackException, msgpack.BufferFull) as problem:
            if isinstance(problem, ExportError):
                raise
            raise ExportError(f"This is no export: at {where} there is no readable msgpack object.") from None
    if pending:
        raise ExportError(f"The export is cut off: object {number}, byte {base}, has no end. Fetch it again.")


def _decode(where: str, data: bytes, kind: Any) -> Any:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError, OverflowError) as problem:
        raise ExportError(f"At {where} is something an export does not hold: {str(problem)[:200]}.") from None


def _load(chunks: Iterable[bytes]) -> Export:
    objects = _objects(chunks)
    digest = hashlib.sha256()
    where, data = next(objects, ("", b""))
    if not data:
        raise ExportError("The export is empty.")
    header = _header(where, data)
    digest.update(data)
    entries: list[Entry] = []
    raw: list[bytes] = []
    texts: dict[str, str] = {}
    salts: dict[str, str] = {}
    seed: bytes | None = None
    end: _End | None = None
    for where, data in objects:
        if end is not None:
            raise ExportError(f"Something follows the end of the export, at {where}.")
        kind, body = _decode(where, data, tuple[str, msgspec.Raw])
        found = bytes(body)
        if kind == "end":
            end = _decode(where, found, _End)
            if end.sha256 != digest.hexdigest():
                raise ExportError("The export was changed, or damaged on its way: its checksum does not fit. Fetch it again.")
            continue
        digest.update(data)
        if kind == "entry":
            entry: Entry = _decode(where, found, Entry)
            if entry.v != len(entries) + 1:
                raise ExportError(f"At {where} is entry {entry.v} where entry {len(entries) + 1} belongs.")
            if len(entries) >= MAX_ENTRIES:
                raise ExportError(f"The export has more than {MAX_ENTRIES} entries.")
            entries.append(entry)
            raw.append(found)
        elif kind == "text":
            text: _Text = _decode(where, found, _Text)
            if not ids.is_id(text.id) or len(text.salt) != SALT:
                raise ExportError(f"At {where} is a text without a proper id or salt.")
            texts[text.id], salts[text.id] = text.text, text.salt
        elif kind == "seed":
            seed = _seed(where, _decode(where, found, _Seed).secret)
        else:
            raise ExportError(f"At {where} is a {kind[:32]!a}, which this version does not know. Upgrade to read it.")
    if end is None:
        raise ExportError(f"The export is cut off after entry {len(entries)}: its end is missing. Fetch it again.")
    if (end.entries, end.texts) != (len(entries), len(texts)):
        raise ExportError(f"The export says it has {end.entries} entries and {end.texts} texts; it has {len(entries)} and {len(texts)}.")
    if not entries or (entries[-1].v, entries[-1].stamp) != (header.v, header.stamp):
        raise ExportError(f"The export's header names version {header.v} as its last, which is not the entry it ends with.")
    return Export(header=header, entries=tuple(entries), raw=tuple(raw), texts=texts, salts=salts, seed=seed)


def _header(where: str, data: bytes) -> ExportHeader:
    class Head(msgspec.Struct, frozen=True):
        format: str = ""
        version: int = 0

    try:
        head = msgspec.msgpack.decode(data, type=Head)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError, OverflowError):
        head = Head()
    if head.format != FORMAT:
        raise ExportError("This is no export of a table: it does not begin with a header.")
    if head.version > VERSION:
        raise ExportError(f"This export has format {head.version}, this server reads up to {VERSION}: upgrade the server.")
    header: ExportHeader = _decode(where, data, ExportHeader)
    if not ids.is_id(header.session) or not all(ids.is_mark(one) for one in (header.epoch, *header.epochs)):
        raise ExportError("The export's header has no proper session or epoch.")
    return header


def _seed(where: str, text: str) -> bytes:
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if not 16 <= len(secret) <= 64:
        raise ExportError(f"At {where} is a dice secret that cannot be one.")
    return secret
