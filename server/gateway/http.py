"""HTTP: everything a person can do over the socket, a bot can do here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from server.app import Server

MAX_UPLOAD = 16 * 1024 * 1024


def add_routes(app: web.Application, server: Server) -> None:
    """Placeholder until the next commit fills it."""
