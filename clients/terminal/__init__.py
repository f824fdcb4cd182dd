"""Dustup in a terminal. `play` is the plain line mode: for pipes, screen readers and any terminal there is."""

from .line import play

__all__ = ["play"]
