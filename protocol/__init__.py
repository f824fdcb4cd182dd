"""The wire of Dustup: messages, codecs, limits, and the server's side of one connection without any I/O.

SPEC.md is the contract for strangers. This package knows no rules: commands pass through it undecoded.
"""

from __future__ import annotations
