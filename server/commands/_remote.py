"""A running server, asked over HTTP: for commands given --url instead of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import click

from server.commands._errors import Failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

F = TypeVar("F", bound=Callable[..., Any])

ANSWER_S: Final = 30.0
LOG_S: Final = 600.0
"""How long a whole log may take: it is executed again on the other side."""


def remote(function: F) -> F:
    """Decorator: `--url` and `--token`. Read them with `remote_of`."""
    function = click.option(
        "--token", "token", metavar="TOKEN", envvar="DUSTUP_TOKEN", default=None, help="What it knows you by; better in DUSTUP_TOKEN."
    )(function)
    return click.option("--url", "url", metavar="URL", default=None, help="Ask the server that runs there, not the store.")(function)


class Remote:
    """A server at `url`, asked with `token` (None: as a stranger)."""

    def __init__(self, url: str, token: str | None) -> None:
        from dustup.links import http_url

        self.url = http_url(url)
        self.token = token

    async def ask(
        self, method: str, path: str, *, json: Mapping[str, Any] | None = None, data: IO[bytes] | None = None, within: float = ANSWER_S
    ) -> dict[str, Any]:
        """The answer to one request. Raises Failure with the server's own sentence when it says no."""
        async with self._asked(method, path, json, data, within) as answer:
            body = await answer.json(content_type=None)
            if not isinstance(body, dict):
                raise Failure(f"{self.url} did not answer like a Dustup server.")
            return body

    async def download(self, path: str, file: IO[bytes], step: Callable[[int], None]) -> int:
        """Write the answer to `file`; how many bytes it had. Raises Failure."""
        size = 0
        async with self._asked("GET", path, None, None, LOG_S) as answer:
            async for chunk in answer.content.iter_chunked(65_536):
                size += file.write(chunk)
                step(size)
        return size

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, json: Mapping[str, Any] | None, data: IO[bytes] | None, within: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        import aiohttp

        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if data is not None:
            headers["Content-Type"] = "application/vnd.dustup.export"
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=within)) as http,
                http.request(method, self.url + path, json=json, data=data, headers=headers) as answer,
            ):
                if not answer.ok:
                    raise Failure(await _sentence(answer, self.url))
                yield answer
        except (aiohttp.ClientError, TimeoutError) as problem:
            said = str(problem) or "no answer in time"
            raise Failure(f"{self.url} cannot be asked ({said}). Is the server running, and is the address right?") from None
        except ValueError:
            raise Failure(f"{self.url} did not answer like a Dustup server.") from None


async def _sentence(answer: aiohttp.ClientResponse, url: str) -> str:
    try:
        body = await answer.json(content_type=None)
    except ValueError:
        body = None
    if isinstance(body, dict) and isinstance(body.get("text"), str):
        hint = " Give a token with --token or DUSTUP_TOKEN." if answer.status == 401 else ""
        return f"{body['text']}{hint}"
    return f"{url} answered {answer.status} {answer.reason}."


def remote_of(given: dict[str, Any]) -> Remote | None:
    """The server a command was pointed at (the options of `remote` are taken out of `given`), None without --url. Raises BadLink."""
    url, token = given.pop("url", None), given.pop("token", None)
    return None if url is None else Remote(url, token)
