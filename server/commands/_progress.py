"""A progress bar on a terminal, nothing elsewhere: for work that may take longer than a breath."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[int], None]


@contextmanager
def bar(title: str, total: int | None) -> Iterator[Step]:
    """A function to call with how much is done so far, of `total` (None: nobody knows). Shown on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)
