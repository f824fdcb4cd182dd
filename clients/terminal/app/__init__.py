"""The full-screen app of the terminal client. `play` runs it; it needs a real terminal."""

from .app import TableApp, play

__all__ = ["TableApp", "play"]
