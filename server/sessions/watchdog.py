"""Stops rules that run too long, even in an endless loop of pure Python: see docs/decisions/watchdog.md.

A thread looks at a mark now and then; when the same piece of work is still marked after its time, it sends the main thread a signal,
whose handler raises there. Handler and work run in one thread, so the mark is either still set when the handler looks, and the exception
lands inside the work, or it is not, and nothing is raised. Without `start` (or off the main thread, or on Windows) work that took too
long is only found out when it ends.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from types import FrameType
from typing import Any, Final

LIMIT_MS: Final = 250
"""Processor time that one piece of work may take: it holds up every session of this node. Waiting for the processor does not count."""
LOOK_EVERY_S: Final = 0.1

_SIGNAL: Final = getattr(signal, "SIGURG", None)
"""Ignored by default and hardly used by anyone, so that a stray one harms nothing."""


class TooSlow(BaseException):
    """Work took longer than LIMIT_MS of processor time. No Exception: rules that catch everything must not catch this."""

    def __init__(self, ms: int) -> None:
        super().__init__(f"{ms} ms")
        self.ms = ms


class _State:
    """The mark, written by the main thread alone."""

    __slots__ = ("collecting", "number", "paused", "running", "started")

    def __init__(self) -> None:
        self.number = 0
        self.running = False
        self.started = 0.0
        self.paused = 0.0
        """Time the garbage collector took meanwhile: that depends on all that is in memory, not on this work."""
        self.collecting = 0.0


_state = _State()


class watched:  # reads as a statement: `with watched(): ...`
    """A block of work that may be interrupted. Raises TooSlow from inside it, or at its end. Not to be nested."""

    __slots__ = ()

    def __enter__(self) -> None:
        _state.number += 1
        _state.paused = 0.0
        _state.started = time.thread_time()
        _state.running = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        _state.running = False
        if kind is None:
            took = _took_ms()
            if took > LIMIT_MS:
                raise TooSlow(took)


def _took_ms() -> int:
    return int((time.thread_time() - _state.started - _state.paused) * 1000)


def _collected(phase: str, info: dict[str, int]) -> None:
    if _state.running and threading.current_thread() is threading.main_thread():
        if phase == "start":
            _state.collecting = time.thread_time()
        elif _state.collecting:
            _state.paused += time.thread_time() - _state.collecting
            _state.collecting = 0.0


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _state.running and not _state.collecting:
        took = _took_ms()
        if took > LIMIT_MS:
            raise TooSlow(took)


class Watchdog:
    """The watching thread of one process. `start` and `stop` are counted, so that several servers in one process share it."""

    def __init__(self) -> None:
        self._users = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._before: Any = None

    def start(self) -> None:
        """Begin to watch; does nothing where a signal cannot be sent to the main thread or the caller is not in it."""
        if _SIGNAL is None or threading.current_thread() is not threading.main_thread():
            return
        self._users += 1
        if self._users == 1:
            gc.callbacks.append(_collected)
            self._before = signal.signal(_SIGNAL, _interrupt)
            self._over.clear()
            self._thread = threading.Thread(target=self._watch, name="rules-watchdog", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End what `start` began."""
        if _SIGNAL is None or self._users == 0:
            return
        self._users -= 1
        if self._users == 0 and self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None
            gc.callbacks.remove(_collected)
            with contextlib.suppress(ValueError):  # not in the main thread: then the handler stays, which raises nothing any more
                signal.signal(_SIGNAL, self._before)

    def _watch(self) -> None:
        main = threading.main_thread().ident
        assert main is not None
        assert _SIGNAL is not None
        seen = 0
        looks = 0
        while not self._over.wait(LOOK_EVERY_S):
            if not _state.running or _state.number != seen:
                seen, looks = _state.number, 0
                continue
            looks += 1
            if looks * LOOK_EVERY_S * 1000 > LIMIT_MS:
                signal.pthread_kill(main, _SIGNAL)


WATCHDOG: Final = Watchdog()
