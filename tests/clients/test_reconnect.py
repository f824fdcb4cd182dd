"""The SDK over a real socket against a server that misbehaves: nothing lost, nothing done twice, the view always right."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

import dustup
from tests.clients.fake_server import NOW, SESSION, TOKEN, FakeServer, start_view


def connect(server: FakeServer, patience: float = 60.0) -> dustup.Connecting:
    return dustup.connect(server.url, TOKEN, first_delay=0.01, longest_delay=0.05, patience=patience)


async def until(table: dustup.Table, condition: Callable[[], bool]) -> None:
    """Wait, driven by what arrives at the table."""
    while True:
        seen = table.changes
        if condition():
            return
        await table.changed(seen)


async def drain(frames: AsyncIterator[object]) -> None:
    async for _ in frames:
        pass


async def test_a_joined_table_shows_what_the_server_told(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        assert (table.seat, table.role, table.ruleset, table.v) == ("ann", "player", "fake", 1)
        assert table.view == start_view()
        assert client.sessions == [{"session": SESSION, "seat": "ann", "role": "player"}]
        hello = server.sent("hello")[0]
        assert (hello["min"], hello["max"], hello["client"]["name"]) == (1, 1, "dustup-python")


async def test_an_action_is_in_the_view_when_its_ack_returns(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        ack = await table.do("hit", target="c2")
        assert (ack.v, ack.durability, ack.again) == (2, "disk", False)
        assert table.v == 2
        assert table.view["combatants"]["c2"]["hp"] == 1
        assert (await table.do({"type": "hit", "target": "c2"})).v == 3
        assert "encounters" not in table.view, "a kind with nothing left to show is gone, as in a fresh view"
        assert table.view == server.view


@pytest.mark.parametrize(
    ("fault", "again"),
    [
        pytest.param("cut before", False, id="the connection dies before the server acts"),
        pytest.param("cut after", True, id="the connection dies after the server acted and before it could say so"),
        pytest.param("unavailable", False, id="the server says unavailable and has not acted"),
        pytest.param("unavailable but done", True, id="the server says unavailable and has acted"),
        pytest.param("rate_limited", False, id="the server asks to wait"),
        pytest.param("resync", False, id="the server closes with resync"),
        pytest.param("bye", False, id="the server says bye and when to come back"),
    ],
)
async def test_an_action_happens_once_and_is_sent_by_one_id(server: FakeServer, fault: str, again: bool) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        server.faults.append(fault)
        ack = await table.do("hit", target="c2")
        assert ack.again is again
        sent = server.sent("do")
        assert len(sent) == 2
        assert sent[0] == sent[1], "a repeated send is the same message"
        assert server.executed == [ack.id]
        await until(table, lambda: table.v == 2)
        assert table.view == server.view


async def test_actions_keep_their_order_through_faults(server: FakeServer) -> None:
    """Ids rise, and a later action is never sent while an earlier one is open: an id once overtaken would be too old."""
    async with connect(server) as client:
        table = await client.join(SESSION)
        server.faults.extend(["unavailable", "cut after", "cut before", "ok", "unavailable but done"])
        acks = await asyncio.gather(*(table.chat(f"line {number}") for number in range(5)))
        assert server.executed == [ack.id for ack in acks]
        numbers = [int(ack.id.rpartition(".")[2]) for ack in acks]
        assert numbers == sorted(set(numbers))
        bodies = [frame["events"][0]["body"] for frame in await table.history()]
        assert bodies == [f"line {number}" for number in range(5)]
        order = [message["id"] for message in server.sent("do")]
        assert order == sorted(order, key=server.executed.index)


async def test_a_second_ack_of_the_same_action_is_ignored(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        server.faults.append("ack twice")
        first = await table.chat("a")
        second = await table.chat("b")
        assert (first.v, second.v) == (2, 3)
        assert not first.again


async def test_a_cut_connection_resumes_from_the_last_frame(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await table.chat("here")
        seen: list[dict[str, object]] = []
        table.on_frame(seen.append)
        server.drop_all()
        await server.commit({"pools": {"p": {"id": "p", "name": "Luck", "value": 3}}}, "While you were away.")
        await until(table, lambda: table.v == 3)
        assert server.sent("join")[1]["resume"] == {"epoch": server.epoch, "v": 2, "stamp": server.stamps[2]}
        assert [message["t"] for message in seen] == ["frame"], "only what was missed, and no new view"
        assert table.view == server.view


async def test_a_resume_the_server_cannot_serve_gives_a_whole_view(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        view = table.view
        server.forget_resume = True
        server.drop_all()
        await server.commit({}, "gone", gone={"combatants": ["c2"]})
        await until(table, lambda: table.v == 2)
        assert table.view == server.view
        assert table.view is view, "the view is one dict for life"


async def test_a_missing_frame_is_noticed_and_the_whole_view_fetched(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await server.commit({"pools": {"p": {"id": "p", "value": 1}}}, "lost on the way", skip=True)
        await server.commit({"pools": {"q": {"id": "q", "value": 2}}}, "arrives")
        await until(table, lambda: table.v == 3)
        assert table.view == server.view
        assert [("resume" in join) for join in server.sent("join")] == [False, False]
        assert server.connections == 1, "asked for on the same connection"


async def test_an_ack_ahead_of_its_frame_means_the_frame_was_lost(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        server.faults.append("lose frame")
        ack = await table.do("hit", target="c2")
        assert table.v == ack.v == 2
        assert table.view == server.view


async def test_a_frame_that_comes_twice_changes_nothing(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await table.do("hit", target="c2")
        seen: list[dict[str, object]] = []
        table.on_frame(seen.append)
        await server.say(server.log[2])
        await table.chat("after")
        assert [message["v"] for message in seen] == [3]


async def test_another_stamp_for_a_known_version_is_a_fork(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await table.do("hit", target="c2")
        forked = {**server.log[2], "stamp": "00000000deadbeef"}
        server.stamps[2] = forked["stamp"]
        server.view["combatants"]["c2"]["hp"] = 2
        await server.say(forked)
        await until(table, lambda: table.stamp == "00000000deadbeef")
        assert table.view == server.view


async def test_a_reset_replaces_view_and_lineage(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await table.do("hit", target="c2")
        seen: list[dict[str, object]] = []
        table.on_frame(seen.append)
        await server.reset("fork")
        await until(table, lambda: table.epoch == server.epoch)
        assert (table.v, table.view) == (1, server.view)
        assert [(message["t"], message["reason"]) for message in seen] == [("reset", "fork")]
        server.drop_all()
        await server.commit({}, "later")
        await until(table, lambda: table.v == 2)
        assert server.sent("join")[-1]["resume"]["epoch"] == server.epoch


async def test_a_large_view_in_parts_is_applied_as_one(server: FakeServer) -> None:
    server.parts = 3
    async with connect(server) as client:
        table = await client.join(SESSION)
        assert table.view == server.view
        seen: list[object] = []
        table.on_frame(lambda message: seen.append(message["t"]))
        await server.reset("import", {**start_view(), "pools": {"p": {"id": "p", "value": 1}}})
        await until(table, lambda: table.epoch == server.epoch)
        assert table.view == server.view
        assert seen == ["reset"]


async def test_a_refused_join_says_why(server: FakeServer) -> None:
    async with connect(server) as client:
        with pytest.raises(dustup.Refused) as caught:
            await client.join("nosuchtable")
        assert (caught.value.code, caught.value.text) == ("no_session", "There is no such table.")
        assert (await client.join(SESSION)).v == 1


async def test_a_join_that_cannot_be_served_now_is_tried_again(server: FakeServer) -> None:
    server.join_faults.extend(["unavailable", "archived"])
    async with connect(server) as client:
        assert (await client.join(SESSION)).v == 1
        assert len(server.sent("join")) == 3


async def test_a_refusal_carries_code_text_and_version(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        with pytest.raises(dustup.Refused) as caught:
            await table.do("hit", target="nobody")
        assert (caught.value.code, caught.value.v) == ("no_target", 1)
        assert server.executed == []


async def test_patience_ends_with_unavailable_and_the_next_action_still_works(server: FakeServer) -> None:
    async with connect(server, patience=0.15) as client:
        table = await client.join(SESSION)
        server.faults.extend(["unavailable"] * 50)
        with pytest.raises(dustup.Unavailable) as caught:
            await table.do("hit", target="c2")
        assert caught.value.id == server.sent("do")[0]["id"]
        assert len({message["id"] for message in server.sent("do")}) == 1
        server.faults.clear()
        assert (await table.do("hit", target="c2")).v == 2


async def test_a_slow_server_holds_up_neither_frames_nor_questions(server: FakeServer) -> None:
    """While an action waits for its answer the reader goes on."""
    async with connect(server) as client, connect(server) as other:
        table, elsewhere = await client.join(SESSION), await other.join(SESSION)
        server.faults.append("slow")
        action = asyncio.create_task(table.do("hit", target="c2"))
        await server.wait_sent("do")
        await elsewhere.chat("meanwhile")
        await until(table, lambda: table.v == 2)
        assert not action.done()
        server.release.set()
        assert (await action).v == 3


async def test_an_action_given_up_before_it_was_sent_is_never_sent(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        server.faults.append("slow")
        first = asyncio.create_task(table.chat("first"))
        second = asyncio.create_task(table.chat("second"))
        await asyncio.sleep(0)
        second.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await second
        server.release.set()
        await first
        await table.chat("third")
        assert [message["command"]["text"] for message in server.sent("do")] == ["first", "third"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "unauthorized", "text": "That token does not give access here.", "close": 4003}, dustup.Unauthorized),
        ({"code": "expired", "text": "Your token has expired.", "close": 4003}, dustup.Unauthorized),
        ({"code": "unsupported_version", "text": "The client is too old.", "close": 4004}, dustup.UnsupportedVersion),
    ],
)
async def test_what_no_retry_can_mend_is_raised_at_once(server: FakeServer, error: dict[str, object], kind: type[dustup.Closed]) -> None:
    server.welcome_error = error
    with pytest.raises(kind) as caught:
        async with connect(server):
            raise AssertionError("the server has refused the hello")
    assert (caught.value.code, caught.value.text) == (error["code"], error["text"])
    assert len(server.sent("hello")) == 1


async def test_a_token_withdrawn_during_play_ends_everything_that_waits(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        server.welcome_error = {"code": "revoked", "text": "Your access has been withdrawn.", "close": 4003}
        frames = table.frames()
        reading = asyncio.ensure_future(anext(frames))
        waiting = asyncio.create_task(table.wait_for(lambda view: "never" in view))
        await asyncio.sleep(0)
        server.faults.append("cut before")
        with pytest.raises(dustup.Unauthorized):
            await table.chat("hello?")
        for task in (reading, waiting):
            with pytest.raises(dustup.Unauthorized):
                await task
        with pytest.raises(dustup.Unauthorized):
            await client.join(SESSION)
        assert isinstance(table.lost, dustup.Unauthorized)
        assert len(server.sent("hello")) == 2


async def test_an_address_without_a_server_is_named_in_the_error() -> None:
    with pytest.raises(dustup.Unavailable, match=r"cannot reach ws://127\.0\.0\.1:9/v1/ws"):
        await dustup.connect("http://127.0.0.1:9", TOKEN, wait=0.2)


async def test_an_address_of_something_else_is_told_from_a_server_that_is_down(server: FakeServer) -> None:
    with pytest.raises(dustup.Closed, match="is no Dustup server: it answered 404"):
        await dustup.connect(f"{server.url}/elsewhere", TOKEN)


async def test_closing_leaves_no_task_and_fails_what_waits(server: FakeServer) -> None:
    before = asyncio.all_tasks()
    client = await connect(server)
    table = await client.join(SESSION)
    server.faults.append("slow")
    waiting = asyncio.create_task(table.chat("too late"))
    await server.wait_sent("do")
    await client.close()
    with pytest.raises(dustup.Closed):
        await waiting
    await client.close()
    server.release.set()
    mine = {task for task in asyncio.all_tasks() - before if task.get_name().startswith("dustup")}
    assert not mine
    with pytest.raises(dustup.Closed):
        await table.options()


async def test_leaving_stops_frames_and_allows_to_join_again(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await table.leave()
        assert server.sent("leave")[0]["session"] == SESSION
        with pytest.raises(dustup.DustupError):
            await table.chat("gone")
        await server.commit({}, "unseen")
        again = await client.join(SESSION)
        assert (again.v, table.v) == (2, 1)


async def test_salt_is_an_action_and_questions_are_answered(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        server.faults.append("cut after")
        assert (await table.salt("pepper")).again
        options = await table.options()
        assert (options.v, [each["type"] for each in options]) == (2, ["fake.hit", "fake.end"])
        assert (await table.odds({"type": "hit", "target": "c2"}))["parts"][0]["p"] == "13/20"
        await table.chat("one")
        page = await table.history(limit=1)
        assert ([frame["v"] for frame in page], page.more) == ([3], True)
        assert [frame["v"] for frame in await table.history(before=3)] == [2]
        assert await client.ping() >= 0
        assert abs(client.now() - NOW) < 60_000, "the server's clock, not this machine's"


async def test_history_of_a_join_is_recent(server: FakeServer) -> None:
    for number in range(3):
        await server.commit({}, f"note {number}")
    async with connect(server) as client:
        table = await client.join(SESSION, history=2)
        assert [frame["events"][0]["text"] for frame in table.recent] == ["note 1", "note 2"]
        await table.chat("now")
        assert [frame["v"] for frame in table.recent] == [3, 4, 5]


async def test_prompts_for_this_seat_are_told_once_and_go_when_answered(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        choices = [{"value": "yes", "text": "Yes"}, {"value": "no", "text": "No"}]
        ours = {"id": "q1", "to": "ann", "kind": "k", "type": "fake.q", "text": "Well?", "choices": choices, "default": "no"}
        await server.commit({"prompts": {"q0": {"id": "q0", "to": "bob"}, "q1": ours}}, "A question.")
        await server.say({"t": "prompt", "session": SESSION, "v": 2, "prompt": ours})
        prompts = table.prompts()
        prompt = await anext(prompts)
        assert (prompt["id"], [each["value"] for each in prompt["choices"]]) == ("q1", ["yes", "no"])
        await table.chat("thinking")
        assert [each["id"] for each in table.prompts_open] == ["q1"]
        following = asyncio.ensure_future(anext(prompts))
        await table.answer("q1", "yes")
        assert server.sent("do")[-1]["command"] == {"type": "answer", "prompt": "q1", "choice": "yes"}
        assert table.prompts_open == []
        assert not following.done()
        await server.commit({"prompts": {"q2": {**ours, "id": "q2"}}}, "Another.")
        assert (await following)["id"] == "q2"
        await prompts.aclose()


async def test_a_question_already_answered_is_not_open_while_others_answer(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        ours = {"id": "q1", "to": "ann", "text": "Well?", "choices": [{"value": "a", "text": "A"}], "answered": True}
        await server.commit({"prompts": {"q1": ours}}, "")
        await until(table, lambda: table.v == 2)
        assert table.prompts_open == []


async def test_a_reader_of_frames_that_falls_behind_is_told(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dustup.table.QUEUE", 3)
    async with connect(server) as client:
        table = await client.join(SESSION)
        frames = table.frames()
        first = asyncio.ensure_future(anext(frames))
        await asyncio.sleep(0)
        for number in range(6):
            await table.chat(f"{number}")
        assert (await first)["v"] == 2
        with pytest.raises(dustup.Lagged):
            await drain(frames)
        assert table.v == 7, "the view itself is right"


async def test_a_callback_that_fails_disturbs_nobody(server: FakeServer, caplog: pytest.LogCaptureFixture) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        seen: list[int] = []
        table.on_frame(lambda message: 1 // 0)
        table.on_frame(lambda message: seen.append(message["v"]))
        await table.chat("on")
        assert seen == [2]
        assert "callback failed" in caplog.text


async def test_wait_for_gives_what_its_predicate_found_and_times_out(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        waiting = asyncio.create_task(table.wait_for(lambda view: view.get("pools", {}).get("p")))
        await server.commit({"pools": {"p": {"id": "p", "value": 4}}}, "")
        found = await waiting
        assert found is not None
        assert found["value"] == 4
        with pytest.raises(TimeoutError):
            await table.wait_for(lambda view: False, timeout=0.01)


async def test_what_cannot_go_over_the_wire_is_refused_before_it_is_sent(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        for bad in (1.5, 2**53, b"x", {1: 2}, "x" * 70_000, "\ud800"):
            with pytest.raises(dustup.BadMessage):
                await table.do("hit", target=bad)
        assert server.sent("do") == []
        assert (await table.chat("still here")).v == 2


async def test_messages_and_fields_from_a_newer_server_are_ignored(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await server.say({"t": "weather", "session": SESSION, "rain": True})
        await server.commit({}, "known", mood="new field")
        await until(table, lambda: table.v == 2)
        assert server.connections == 1


async def test_garbage_from_the_server_ends_that_connection_and_a_new_one_resumes(server: FakeServer) -> None:
    async with connect(server) as client:
        table = await client.join(SESSION)
        await server.send_garbage()
        await server.wait_sent("join", 2)
        assert (await table.chat("well again")).v == 2
        assert "resume" in server.sent("join")[1]
