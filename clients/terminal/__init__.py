"""Dustup in a terminal: the full-screen app in `app/`, and plain lines (`play`) for pipes, screen readers and any terminal there is."""

from .line import play

__all__ = ["play"]
