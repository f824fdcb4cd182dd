"""The yardstick: an aiohttp server that sends the same bytes to the same recipients, with no engine and no store.

    python -m tests.bench.echo PORT FRAME_BYTES

Each action of one client of a group is answered with one frame of FRAME_BYTES to each of the group's clients and an ack to its sender.
The group is the path: /group/7.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from aiohttp import WSMsgType, web


def main(port: int, frame_bytes: int) -> None:
    groups: dict[str, list[web.WebSocketResponse]] = {}
    frame = msgspec.msgpack.encode({"t": "frame", "pad": "x" * max(frame_bytes - 16, 1)})

    async def handle(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=["dustup.v1.msgpack"], compress=False)
        await socket.prepare(request)
        group = groups.setdefault(request.match_info["group"], [])
        group.append(socket)
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                action = msgspec.msgpack.decode(message.data)
                for other in group:
                    await other.send_bytes(frame)
                await socket.send_bytes(msgspec.msgpack.encode({"t": "ack", "id": action["id"], "v": 1}))
        group.remove(socket)
        return socket

    async def serve() -> None:
        app = web.Application()
        app.router.add_get("/group/{group}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()
        print("ready", flush=True)
        await asyncio.Event().wait()

    try:
        import uvloop
    except ImportError:
        asyncio.run(serve())
    else:
        uvloop.run(serve())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
