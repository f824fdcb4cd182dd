/** The client's core without sockets: bytes in, bytes out, and a clock that the test moves. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PING_AFTER, SILENT_AFTER } from "../src/core.js";
import { Closed, ProtocolError, Unauthorized, Unavailable, UnsupportedVersion } from "../src/errors.js";
import type { CoreEvent } from "../src/events.js";
import { BadMessage } from "../src/index.js";
import { Backoff } from "../src/requests.js";
import {
  EPOCH,
  SESSION,
  act,
  again,
  core,
  frame,
  hex,
  joined,
  kinds,
  pack,
  plain,
  seated,
  seeded,
  sent,
  stamp,
  welcome,
} from "./helpers.js";

const is = (events: readonly CoreEvent[]): string[] => events.map((event) => event.is);
const failure = (events: readonly CoreEvent[]): Error | undefined => events.find((event) => event.is === "failed")?.error;
const viewOf = (client: ReturnType<typeof core>): unknown => plain(client.tables.get(SESSION)!.view);

describe("order", () => {
  test("hello comes first, and nothing else before the welcome", () => {
    const client = core();
    client.join(SESSION, "seat token", 20, 0);
    client.connected(0);
    const [hello, ...rest] = sent(client);
    assert.deepEqual(rest, []);
    assert.deepEqual({ ...hello, client: null }, { t: "hello", token: "a token", min: 1, max: 1, client: null });
    client.receive(welcome(), 0);
    const [join] = sent(client);
    assert.deepEqual(join, { t: "join", session: SESSION, token: "seat token", history: 20, id: join!["id"] });
  });

  test("actions wait for the seat and go one at a time, in order", () => {
    const client = core();
    client.connected(0);
    client.receive(welcome(), 0);
    client.join(SESSION, null, 0, 0);
    const [first, second] = [act(client), act(client)];
    assert.deepEqual(kinds(sent(client)), ["hello", "join"]);
    client.receive(joined(1, {}), 0);
    assert.deepEqual(
      sent(client).map(({ id }) => id),
      [first],
    );
    client.receive(frame(2), 0);
    const events = client.receive(pack({ t: "ack", id: first, session: SESSION, v: 2 }), 0);
    assert.deepEqual(
      events.map((event) => event.is === "answered" && event.id),
      [first],
    );
    assert.deepEqual(
      sent(client).map(({ id }) => id),
      [second],
    );
  });

  test("questions do not wait for actions", () => {
    const client = seated();
    act(client);
    client.ask("options", SESSION, {}, 0);
    assert.deepEqual(kinds(sent(client)), ["do", "options"]);
  });

  test("two tables do not wait for each other", () => {
    const client = seated();
    client.join("other", null, 0, 0);
    client.receive(pack({ t: "joined", session: "other", epoch: EPOCH, v: 1, stamp: stamp(1), resumed: false, view: {} }), 0);
    client.outgoing();
    act(client);
    client.ask("do", "other", { command: { type: "hit" } }, 0, true);
    assert.deepEqual(
      sent(client).map(({ session }) => session),
      [SESSION, "other"],
    );
  });

  test("an ack ahead of its frame, and a frame ahead of its turn, mean that one was lost: the whole view is fetched", () => {
    for (const ahead of [frame(3), pack({ t: "ack", id: "me.2", session: SESSION, v: 2 })]) {
      const client = seated();
      act(client);
      client.outgoing();
      client.receive(ahead, 0);
      const [join] = sent(client);
      assert.deepEqual([join?.t, join?.["resume"]], ["join", undefined]);
      client.receive(joined(3, { pools: { q: { value: 2 } } }), 0);
      assert.deepEqual(viewOf(client), { pools: { q: { value: 2 } } });
    }
  });
});

describe("a lost connection", () => {
  test("open requests go again unchanged, and only after the join", () => {
    const client = seated();
    act(client);
    client.ask("options", SESSION, {}, 0);
    const before = sent(client);
    client.disconnected(1, null);
    client.connected(2);
    client.receive(welcome(), 2);
    const [hello, join] = sent(client);
    assert.equal(hello?.t, "hello");
    assert.deepEqual(join?.["resume"], { epoch: EPOCH, v: 1, stamp: stamp(1) });
    client.receive(joined(1), 2);
    assert.deepEqual(sent(client), before);
  });

  test("what nobody waits for any more is not sent again, and keeps its place while its answer may come", () => {
    const client = seated();
    const [givenUp, wanted] = [act(client), act(client)];
    client.outgoing();
    client.abandon(givenUp);
    assert.deepEqual(sent(client), []);
    client.disconnected(0, null);
    again(client, 0, joined(1));
    assert.deepEqual(
      sent(client).map(({ id }) => id),
      [wanted],
    );
  });

  test("a retry waits as long as told, even over a reconnect", () => {
    const client = seated();
    const id = act(client);
    client.outgoing();
    client.receive(pack({ t: "error", id, code: "unavailable", text: "", retry_after: 4000 }), 0);
    client.disconnected(1000, null);
    again(client, 1000, joined(1));
    client.tick(3900);
    assert.deepEqual(sent(client), []);
    const at = client.wakeAt(3900);
    assert.ok(at >= 4000 && at <= 5000);
    client.tick(5000);
    assert.deepEqual(
      sent(client).map((message) => message["id"]),
      [id],
    );
  });

  test("half a view does not survive it", () => {
    const client = core();
    client.connected(0);
    client.receive(welcome(), 0);
    client.join(SESSION, null, 0, 0);
    client.receive(joined(1, { pools: { p: { value: 1 } } }, { part: 1, parts: 2 }), 0);
    client.disconnected(0, null);
    again(client, 0, joined(2, { pools: { q: { value: 2 } } }));
    assert.deepEqual(viewOf(client), { pools: { q: { value: 2 } } });
  });

  test("a table once joined is waited for without end", () => {
    const client = seated({ patience: 5000 });
    client.disconnected(1000, null);
    assert.deepEqual(client.tick(10_000_000), []);
    assert.ok(client.tables.has(SESSION));
  });
});

describe("patience", () => {
  test("bounds all tries together", () => {
    const client = seated({ patience: 10_000 });
    const id = act(client);
    let failed: Error | undefined;
    for (let at = 0; !failed; at = client.wakeAt(at)) {
      assert.ok(at <= 10_000);
      const events = client.tick(at);
      client.outgoing();
      events.push(...client.receive(pack({ t: "error", id, code: "unavailable", text: "no disk", retry_after: 3000 }), at));
      failed = failure(events);
    }
    assert.ok(failed instanceof Unavailable);
    assert.equal(failed.id, id);
    assert.match(failed.text, /no disk/);
  });

  test("a request that was never sent says so", () => {
    const client = core({ patience: 5000 });
    client.join(SESSION, null, 0, 0);
    act(client);
    const events = client.tick(5000);
    const failed = failure(events);
    assert.ok(failed instanceof Unavailable);
    assert.equal(failed.id, null);
    assert.match(failed.text, /nothing was sent/);
    assert.ok(is(events).includes("lost"));
  });
});

describe("ends of a connection", () => {
  for (const code of [1000, 1001, 1006, 1011, 1012, 4001, 4008, 4009, 4014, null]) {
    test(`${code} is mended by another one`, () => {
      const client = seated();
      assert.deepEqual(client.disconnected(1, code), []);
      assert.ok(client.reconnectIn > 0);
    });
  }
  const finals: [code: number, kind: new (...words: never[]) => Closed][] = [
    [4002, ProtocolError],
    [4003, Unauthorized],
    [4004, UnsupportedVersion],
    [4013, ProtocolError],
    [1009, ProtocolError],
  ];
  for (const [code, kind] of finals) {
    test(`${code} is final and fails what is open`, () => {
      const client = seated();
      const id = act(client);
      const events = client.disconnected(1, code);
      assert.deepEqual(
        events.flatMap((event) => (event.is === "failed" ? [event.id] : [])),
        [id],
      );
      assert.equal(events.at(-1)?.is, "fatal");
      assert.throws(() => act(client), kind);
      assert.equal(client.wakeAt(1), Infinity);
    });
  }

  test("bye sets the wait before the next connection", () => {
    const client = seated();
    client.receive(pack({ t: "bye", code: "shutting_down", text: "", retry_after: 7000 }), 0);
    client.disconnected(0, 4001);
    assert.ok(client.reconnectIn >= 7000 && client.reconnectIn <= 7000 * 1.25);
    assert.ok(client.waitWasTold);
  });

  test("goodbye for good is final, goodbye for now is not, and no goodbye is no goodbye", () => {
    const good = seated();
    good.receive(pack({ t: "bye", code: "bye", text: "Closed for the night." }), 0);
    const fatal = good.disconnected(0, 4000).at(-1);
    assert.equal(fatal?.is === "fatal" && fatal.error.text, "Closed for the night.");
    const now = seated();
    now.receive(pack({ t: "bye", code: "bye", text: "Moving house.", retry_after: 2000 }), 0);
    assert.deepEqual(now.disconnected(0, 4000), []);
    assert.ok(now.reconnectIn >= 2000);
    assert.deepEqual(seated().disconnected(0, 4000), []);
  });

  test("a token withdrawn ends with the server's words", () => {
    const client = seated();
    client.receive(pack({ t: "bye", code: "revoked", text: "Ask the host." }), 0);
    const fatal = client.disconnected(0, 4003).at(-1);
    assert.ok(fatal?.is === "fatal" && fatal.error instanceof Unauthorized);
    assert.deepEqual([fatal.error.code, fatal.error.text], ["revoked", "Ask the host."]);
  });

  test("closed for flooding: a minute, unless told", () => {
    const client = seated();
    client.disconnected(1, 4008);
    assert.ok(client.reconnectIn >= 60_000);
  });

  test("waits double up to the cap and start over after a steady connection", () => {
    const client = core({ firstWait: 250, longestWait: 15_000 });
    for (let attempt = 0; attempt < 12; attempt++) {
      client.disconnected(attempt, null);
      const full = Math.min(15_000, 250 * 2 ** attempt);
      assert.ok(client.reconnectIn >= full / 2 && client.reconnectIn <= full);
    }
    client.connected(100_000);
    client.disconnected(200_000, null);
    assert.ok(client.reconnectIn <= 250);
  });

  test("waits start over once a server has given us a seat", () => {
    const client = seated();
    for (let attempt = 0; attempt < 10; attempt++) {
      client.disconnected(0, null);
      assert.ok(client.reconnectIn <= 250);
      again(client, 0, joined(1));
    }
  });

  test("many clients do not come back at once", () => {
    const waits = (told?: number): Set<number> =>
      new Set(Array.from({ length: 50 }, (_, seed) => new Backoff(seeded(seed * 7919), 1000, 15_000).next(told)));
    assert.equal(waits().size, 50);
    assert.equal(waits(2000).size, 50);
    assert.ok(Math.min(...waits(2000)) >= 2000);
  });
});

describe("a dead server is noticed", () => {
  test("no welcome in time hangs up", () => {
    const client = core();
    client.connected(0);
    assert.deepEqual(is(client.tick(client.wakeAt(0))), ["hang up"]);
  });

  test("silence is asked about, and given up when it goes on", () => {
    const client = seated();
    assert.deepEqual(client.tick(PING_AFTER - 1), []);
    assert.deepEqual(sent(client), []);
    assert.deepEqual(client.tick(client.wakeAt(PING_AFTER - 1)), []);
    assert.deepEqual(kinds(sent(client)), ["ping"]);
    assert.equal(client.wakeAt(PING_AFTER), PING_AFTER + SILENT_AFTER);
    assert.deepEqual(is(client.tick(PING_AFTER + SILENT_AFTER)), ["hang up"]);
  });

  test("any sign of life will do", () => {
    const client = seated();
    client.tick(PING_AFTER);
    client.receive(frame(2), PING_AFTER + 1);
    assert.deepEqual(client.tick(PING_AFTER + SILENT_AFTER + 1), []);
  });

  test("after a sleep the server is asked first, however long it lasted", () => {
    const client = seated();
    assert.deepEqual(client.tick(3_600_000), []);
    assert.deepEqual(kinds(sent(client)), ["ping"]);
    assert.deepEqual(is(client.tick(3_600_000 + SILENT_AFTER)), ["hang up"]);
  });
});

describe("a table the server lets go of", () => {
  test("not joined: join again, then send again", () => {
    const client = seated();
    const id = act(client);
    client.outgoing();
    client.receive(pack({ t: "error", id, session: SESSION, code: "not_joined", text: "" }), 0);
    const [join] = sent(client);
    assert.equal((join?.["resume"] as { v: number }).v, 1);
    client.receive(joined(1), 0);
    client.tick(20_000);
    assert.deepEqual(
      sent(client).map((message) => message["id"]),
      [id],
    );
  });

  test("is joined again when it is back, and its requests are not sent twice", () => {
    const client = seated();
    act(client);
    client.outgoing();
    client.receive(pack({ t: "error", session: SESSION, code: "archived", text: "", retry_after: 1000 }), 0);
    assert.deepEqual(sent(client), []);
    client.tick(1500);
    assert.deepEqual(kinds(sent(client)), ["join"]);
    client.receive(joined(1), 2000);
    assert.deepEqual(sent(client), [], "its request is still on this connection and will be answered");
  });

  test("a seat that is taken away ends its table alone", () => {
    const client = seated();
    const id = act(client);
    const events = client.receive(pack({ t: "error", session: SESSION, code: "revoked", text: "Your seat was removed." }), 0);
    assert.deepEqual(is(events), ["failed", "lost"]);
    assert.equal(events[0]?.is === "failed" && events[0].id, id);
    client.join("other", null, 0, 0);
    assert.equal(sent(client).at(-1)?.t, "join");
  });
});

describe("garbage", () => {
  const garbage: { [what: string]: Uint8Array } = {
    nothing: new Uint8Array(),
    "no msgpack": hex("c1"),
    "a list": hex("93010203"),
    "no tag": pack({ x: 1 }),
    "a tag that is no text": pack({ t: 1 }),
    "a frame without v": pack({ t: "frame", session: SESSION }),
    "a frame whose v is a text": pack({ t: "frame", session: SESSION, v: "two", stamp: "" }),
    "a frame whose views are a number": pack({ t: "frame", session: SESSION, v: 2, stamp: "", views: 7 }),
    "a frame whose entities are numbers": pack({ t: "frame", session: SESSION, v: 2, stamp: "", views: { pools: { p: 7 } } }),
    "a frame with a view of lists": pack({ t: "frame", session: SESSION, v: 2, stamp: "", view: { pools: [1] } }),
    "a frame whose gone is no list": pack({ t: "frame", session: SESSION, v: 2, stamp: "", views: { a: {} }, gone: { pools: "p" } }),
    "a frame whose events are texts": pack({ t: "frame", session: SESSION, v: 2, stamp: "", events: ["x"] }),
    "a reset without a view": pack({ t: "reset", session: SESSION, v: 2, stamp: "" }),
    "joined without a session": pack({ t: "joined" }),
    "a prompt without an id": pack({ t: "prompt", session: SESSION, v: 1, prompt: {} }),
    "presence of nobody": pack({ t: "presence", session: SESSION, seats: { ann: "here" } }),
    "an error without a code": pack({ t: "error", id: "q1" }),
    "a float": hex("82a174a5" + Buffer.from("frame").toString("hex") + "a176cb3ff8000000000000"),
  };
  for (const [what, raw] of Object.entries(garbage)) {
    test(`${what} hangs up, and the view stays whole`, () => {
      const client = seated();
      assert.deepEqual(is(client.receive(raw, 0)), ["hang up"]);
      assert.deepEqual(viewOf(client), { pools: { p: { value: 1 } } });
      assert.equal(client.tables.get(SESSION)!.v, 1);
    });
  }

  test("any bytes are survived", () => {
    const random = seeded(42);
    for (let round = 0; round < 2000; round++) {
      const raw = Uint8Array.from({ length: Math.floor(random() * 60) }, () => Math.floor(random() * 256));
      const events = seated().receive(raw, 0);
      assert.ok(is(events).every((kind) => kind === "hang up"));
    }
  });

  test("any golden message with a byte changed is read, ignored or hung up on, never thrown at the user", () => {
    const random = seeded(7);
    for (const whole of [
      joined(2, { pools: { p: { value: 2 } } }),
      frame(2, { views: { pools: { q: { value: 1 } } }, gone: { pools: ["p"] } }),
    ]) {
      for (let at = 0; at < whole.length; at++) {
        const raw = whole.slice();
        raw[at] = Math.floor(random() * 256);
        const events = seated().receive(raw, 0);
        assert.ok(events.length <= 2);
      }
    }
  });

  test("kinds of messages that are not known are ignored, and so are answers to nothing", () => {
    const client = seated();
    for (const message of [
      { t: "weather", session: SESSION, rain: true },
      { t: "ack", id: "me.999", session: SESSION, v: 9 },
      { t: "error", id: "me.999", code: "stale", text: "" },
    ]) {
      assert.deepEqual(client.receive(pack(message), 0), []);
    }
    assert.deepEqual(sent(client), []);
  });
});

describe("parts", () => {
  test("out of order are no view", () => {
    const client = core();
    client.connected(0);
    client.receive(welcome(), 0);
    client.join(SESSION, null, 0, 0);
    assert.deepEqual(client.receive(joined(1, { a: {} }, { part: 1, parts: 3 }), 0), []);
    assert.deepEqual(is(client.receive(joined(1, { a: {} }, { part: 3, parts: 3 }), 0)), ["hang up"]);
  });

  test("of a frame move the view once", () => {
    const client = seated();
    const first = frame(2, { views: { pools: { p: { value: 5 } } }, events: [{ type: "x", text: "" }], part: 1, parts: 2 });
    assert.deepEqual(client.receive(first, 0), []);
    assert.deepEqual(viewOf(client), { pools: { p: { value: 1 } } });
    const [event] = client.receive(frame(2, { views: { pools: { q: { value: 6 } } }, part: 2, parts: 2 }), 0);
    assert.deepEqual(event?.is === "changed" && event.message["events"], [{ type: "x", text: "" }]);
    assert.deepEqual(viewOf(client), { pools: { p: { value: 5 }, q: { value: 6 } } });
  });
});

describe("the view", () => {
  test("the server's own frame limit is kept", () => {
    const client = seated();
    client.receive(welcome({ frame_in: 1000 }), 0);
    assert.throws(() => act(client, 0, { note: "x".repeat(1000) }), BadMessage);
  });

  test("is never changed in place, and what a frame did not touch stays the same object", () => {
    const client = seated();
    client.receive(frame(2, { views: { seats: { ann: { name: "Ann" } } } }), 0);
    const before = client.tables.get(SESSION)!.view;
    const kept = plain(before);
    client.receive(frame(3, { views: { pools: { q: { value: 2 } } }, gone: { pools: ["p"] } }), 0);
    const after = client.tables.get(SESSION)!.view;
    assert.deepEqual(plain(before), kept);
    assert.notEqual(after, before);
    assert.equal(after["seats"], before["seats"]);
    client.receive(frame(4), 0);
    assert.equal(client.tables.get(SESSION)!.view, after);
  });

  test("holds only what was told, whatever an id is called", () => {
    const client = seated();
    const { view } = client.tables.get(SESSION)!;
    assert.equal(view["constructor"], undefined);
    assert.equal(view["pools"]!["toString"], undefined);
    client.receive(frame(2, { views: { pools: { constructor: { value: 3 } } } }), 0);
    assert.deepEqual(plain(client.tables.get(SESSION)!.view["pools"]!["constructor"]), { value: 3 });
  });

  test("equals the server's after any mix of frames, losses and resumes", () => {
    for (let seed = 1; seed <= 60; seed++) mixOfFrames(seeded(seed * 104_729));
  });
});

/** A server keeps a view and a log of frames; frames get lost or doubled, connections cut. In the end both views are equal. */
function mixOfFrames(random: () => number): void {
  const client = seated();
  let truth: { [id: string]: { value: number } } = { p: { value: 1 } };
  const log = new Map<number, Uint8Array>();
  let v = 1;
  const whole = (): { pools?: typeof truth } => (Object.keys(truth).length ? { pools: { ...truth } } : {});
  const serve = (): void => {
    for (const message of sent(client)) {
      if (message.t !== "join") continue;
      const resume = message["resume"] as { v: number } | undefined;
      client.receive(resume ? joined(v) : joined(v, whole()), 0);
      for (let missed = resume ? resume.v + 1 : v + 1; missed <= v; missed++) client.receive(log.get(missed)!, 0);
    }
  };
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const commit = (fields: object, times: number): void => {
    v += 1;
    log.set(v, frame(v, fields as { [field: string]: unknown }));
    for (let time = 0; time < times; time++) client.receive(log.get(v)!, 0);
    serve();
  };
  for (let step = 0; step < 30; step++) {
    const [kind, id, value] = [pick(["set", "gone", "whole", "empty", "cut", "lose", "twice"]), pick(["a", "b", "c"]), pick([0, 1, 2])];
    if (kind === "cut") {
      client.disconnected(0, null);
      client.connected(0);
      client.receive(welcome(), 0);
      serve();
    } else if (kind === "gone") {
      delete truth[id];
      commit({ gone: { pools: [id] } }, 1);
    } else if (kind === "whole") {
      truth = { [id]: { value } };
      commit({ view: { pools: { ...truth } } }, 1);
    } else if (kind === "empty") {
      commit({}, 1);
    } else {
      truth[id] = { value };
      commit({ views: { pools: { [id]: { value } } } }, kind === "lose" ? 0 : kind === "twice" ? 2 : 1);
    }
  }
  commit({}, 1);
  assert.equal(client.tables.get(SESSION)!.v, v);
  assert.deepEqual(viewOf(client), whole());
}
