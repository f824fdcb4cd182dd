"""A ruleset package that does not load harms nobody but those who want it."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import aiohttp
import pytest

from server.app import Server
from tests.integration.api import DUEL, Api, refused


async def test_a_ruleset_that_cannot_be_loaded_hides_no_other(
    node: Server, http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_a_broken_one(**named: Any) -> list[EntryPoint]:
        return [*entry_points(**named), EntryPoint("broken", "no_such_package.rules:RULES", "dustup.rulesets")]

    monkeypatch.setattr("engine.rulesets.entry_points", with_a_broken_one)
    api = Api(http, node)
    listed = {one["name"] for one in (await api.good("GET", "/v1/rulesets"))["rulesets"]}
    assert "duel" in listed
    assert "broken" not in listed
    refused(await api.call("POST", "/v1/sessions", body={**DUEL, "ruleset": "broken"}), 500, "internal")
    assert (await api.table())["v"] == 2
