"""What several protocol tests start from."""

from __future__ import annotations

import pytest

from protocol.codec import CODECS, Codec


@pytest.fixture(params=CODECS, ids=lambda codec: codec.subprotocol)
def codec(request: pytest.FixtureRequest) -> Codec:
    """Each subprotocol in turn."""
    chosen: Codec = request.param
    return chosen
