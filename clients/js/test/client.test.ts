/** The client over a real socket against a server that misbehaves: nothing lost, nothing done twice, the view always right. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { WebSocket } from "ws";
import * as dustup from "../src/index.js";
import { FakeServer, NOW, SESSION, TOKEN, startView } from "./fake-server.js";
import { plain, type Fields } from "./helpers.js";

let server: FakeServer;
let clients: dustup.Client[] = [];

beforeEach(async () => {
  server = await new FakeServer().start();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server.stop();
});

async function connect(options: dustup.ConnectOptions = {}): Promise<dustup.Client> {
  const client = await dustup.connect(server.url, TOKEN, { WebSocket, firstDelay: 10, longestDelay: 50, ...options });
  clients.push(client);
  return client;
}

async function sit(options: dustup.ConnectOptions = {}): Promise<dustup.Table> {
  return (await connect(options)).join(SESSION);
}

/** Wait, driven by what arrives at the table. */
async function until(table: dustup.Table, condition: () => boolean): Promise<void> {
  for (;;) {
    const seen = table.changes;
    if (condition()) return;
    await table.changed(seen);
  }
}

const refused = (code: string) => (error: unknown) => error instanceof dustup.Refused && error.code === code;
const seenBy = (table: dustup.Table): dustup.Move[] => {
  const seen: dustup.Move[] = [];
  table.onFrame((move) => seen.push(move));
  return seen;
};
const resumes = (): unknown[] => server.sent("join").map((join) => join["resume"]);

describe("a table", () => {
  test("shows what the server told", async () => {
    const table = await sit();
    assert.deepEqual([table.seat, table.role, table.ruleset, table.v], ["ann", "player", "fake", 1]);
    assert.deepEqual(plain(table.view), startView());
    assert.deepEqual(plain(table.client.sessions), [{ session: SESSION, seat: "ann", role: "player" }]);
    const [hello] = server.sent("hello");
    assert.deepEqual([hello?.["min"], hello?.["max"], (hello?.["client"] as Fields)["name"]], [1, 1, "dustup-js"]);
    assert.equal(await table.client.join(SESSION), table, "joining again gives the same table");
  });

  test("has an action in its view when the ack comes", async () => {
    const table = await sit();
    const ack = await table.do("hit", { target: "c2" });
    assert.deepEqual([ack.v, ack.durability, ack.again], [2, "disk", false]);
    assert.equal(table.view["combatants"]?.["c2"]?.["hp"], 1);
    assert.equal((await table.do({ type: "hit", target: "c2" })).v, 3);
    assert.equal(table.view["encounters"], undefined, "a kind with nothing left to show is gone, as in a fresh view");
    assert.deepEqual(plain(table.view), server.view);
  });

  test("refuses with code, text and version", async () => {
    const table = await sit();
    await assert.rejects(
      table.do("hit", { target: "nobody" }),
      (error) => refused("no_target")(error) && (error as dustup.Refused).v === 1 && (error as dustup.Refused).text.includes("nobody"),
    );
    assert.deepEqual(server.executed, []);
  });

  test("refuses what cannot go over the wire before it is sent", async () => {
    const table = await sit();
    for (const target of [1.5, 2 ** 53, new Uint8Array(1), "x".repeat(70_000), "\ud800"]) {
      await assert.rejects(table.do("hit", { target }), dustup.BadMessage);
    }
    assert.deepEqual(server.sent("do"), []);
    assert.equal((await table.chat("still here")).v, 2);
  });

  test("answers questions, and salt is an action", async () => {
    const table = await sit();
    server.faults.push("cut after");
    assert.ok((await table.salt("pepper")).again);
    const options = await table.options();
    assert.deepEqual([options.v, options.map(({ type }) => type)], [2, ["fake.hit", "fake.end"]]);
    assert.equal((await table.odds({ type: "hit", target: "c2" })).parts?.[0]?.p, "13/20");
    await table.post("one");
    const page = await table.history({ limit: 1 });
    assert.deepEqual([page.map(({ v }) => v), page.more], [[3], true]);
    assert.deepEqual(
      (await table.history({ before: 3 })).map(({ v }) => v),
      [2],
    );
    assert.ok((await table.client.ping()) >= 0);
    assert.ok(Math.abs(table.client.now() - NOW) < 60_000, "the server's clock, not this machine's");
  });

  test("keeps the history of a join, and what follows, as recent", async () => {
    for (const number of [0, 1, 2]) server.commit({}, `note ${number}`);
    const table = await (await connect()).join(SESSION, { history: 2 });
    assert.deepEqual(
      table.recent.map(({ events }) => events?.[0]?.text),
      ["note 1", "note 2"],
    );
    await table.chat("now");
    assert.deepEqual(
      table.recent.map(({ v }) => v),
      [3, 4, 5],
    );
  });

  test("can be left, and joined again", async () => {
    const table = await sit();
    await table.leave();
    assert.equal(server.sent("leave")[0]?.["session"], SESSION);
    await assert.rejects(table.chat("gone"), dustup.DustupError);
    server.commit({}, "unseen");
    const again = await table.client.join(SESSION);
    assert.deepEqual([again.v, table.v], [2, 1]);
  });

  test("ignores messages and fields from a newer server", async () => {
    const table = await sit();
    server.say({ t: "weather", session: SESSION, rain: true });
    server.commit({}, "known", { mood: "new field" });
    await until(table, () => table.v === 2);
    assert.equal(server.connections, 1);
  });
});

describe("an action happens once and is sent by one id, although", () => {
  const faults: [fault: string, again: boolean, what: string][] = [
    ["cut before", false, "the connection dies before the server acts"],
    ["cut after", true, "the connection dies after the server acted and before it could say so"],
    ["unavailable", false, "the server says unavailable and has not acted"],
    ["unavailable but done", true, "the server says unavailable and has acted"],
    ["rate_limited", false, "the server asks to wait"],
    ["resync", false, "the server closes with resync"],
    ["bye", false, "the server says bye and when to come back"],
  ];
  for (const [fault, again, what] of faults) {
    test(what, async () => {
      const table = await sit();
      server.faults.push(fault);
      const ack = await table.do("hit", { target: "c2" });
      assert.equal(ack.again, again);
      const [first, second, ...more] = server.sent("do");
      assert.deepEqual(more, []);
      assert.deepEqual(second, first, "a repeated send is the same message");
      assert.deepEqual(server.executed, [ack.id]);
      await until(table, () => table.v === 2);
      assert.deepEqual(plain(table.view), server.view);
    });
  }

  test("many of these come together: the order stays, and an action never overtakes an open one", async () => {
    const table = await sit();
    server.faults.push("unavailable", "cut after", "cut before", "ok", "unavailable but done");
    const acks = await Promise.all([0, 1, 2, 3, 4].map((number) => table.chat(`line ${number}`)));
    assert.deepEqual(
      server.executed,
      acks.map(({ id }) => id),
    );
    const numbers = acks.map(({ id }) => Number(id.split(".")[1]));
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
    );
    assert.deepEqual(
      (await table.history()).map(({ events }) => events?.[0]?.body),
      [0, 1, 2, 3, 4].map((number) => `line ${number}`),
    );
    const order = server.sent("do").map(({ id }) => server.executed.indexOf(id as string));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
  });

  test("its ack comes twice", async () => {
    const table = await sit();
    server.faults.push("ack twice");
    const [first, second] = [await table.chat("a"), await table.chat("b")];
    assert.deepEqual([first.v, first.again, second.v], [2, false, 3]);
  });
});

describe("the view is right", () => {
  test("after a cut connection: it resumes from the last frame and shows only what was missed", async () => {
    const table = await sit();
    await table.chat("here");
    const seen = seenBy(table);
    server.dropAll();
    server.commit({ pools: { p: { id: "p", value: 3 } } }, "While you were away.");
    await until(table, () => table.v === 3);
    assert.deepEqual(resumes()[1], { epoch: server.epoch, v: 2, stamp: server.stamps.get(2) });
    assert.deepEqual(
      seen.map(({ t }) => t),
      ["frame"],
    );
    assert.deepEqual(plain(table.view), server.view);
  });

  test("after a resume the server cannot serve", async () => {
    const table = await sit();
    server.forgetResume = true;
    server.dropAll();
    server.commit({}, "gone", { gone: { combatants: ["c2"] } });
    await until(table, () => table.v === 2);
    assert.deepEqual(plain(table.view), server.view);
  });

  test("after a frame was lost: the whole view is fetched on the same connection", async () => {
    const table = await sit();
    server.commit({ pools: { p: { id: "p", value: 1 } } }, "lost on the way", {}, true);
    server.commit({ pools: { q: { id: "q", value: 2 } } }, "arrives");
    await until(table, () => table.v === 3);
    assert.deepEqual(plain(table.view), server.view);
    assert.deepEqual(resumes(), [undefined, undefined]);
    assert.equal(server.connections, 1);
  });

  test("after an ack came ahead of its frame", async () => {
    const table = await sit();
    server.faults.push("lose frame");
    const ack = await table.do("hit", { target: "c2" });
    assert.deepEqual([table.v, ack.v], [2, 2]);
    assert.deepEqual(plain(table.view), server.view);
  });

  test("after a frame came twice", async () => {
    const table = await sit();
    await table.do("hit", { target: "c2" });
    const seen = seenBy(table);
    server.say(server.log.get(2)!);
    await table.chat("after");
    assert.deepEqual(
      seen.map(({ v }) => v),
      [3],
    );
  });

  test("after a fork: another stamp for a known version", async () => {
    const table = await sit();
    await table.do("hit", { target: "c2" });
    server.stamps.set(2, "00000000deadbeef");
    server.view["combatants"]!["c2"]!["hp"] = 2;
    server.say({ ...server.log.get(2)!, stamp: "00000000deadbeef" });
    await until(table, () => table.stamp === "00000000deadbeef");
    assert.deepEqual(plain(table.view), server.view);
  });

  test("after a reset, and from then on in the new lineage", async () => {
    const table = await sit();
    await table.do("hit", { target: "c2" });
    const seen = seenBy(table);
    server.reset("fork");
    await until(table, () => table.epoch === server.epoch);
    assert.deepEqual([table.v, plain(table.view)], [1, server.view]);
    assert.deepEqual(
      seen.map((move) => [move.t, move["reason"]]),
      [["reset", "fork"]],
    );
    server.dropAll();
    server.commit({}, "later");
    await until(table, () => table.v === 2);
    assert.equal((resumes().at(-1) as Fields)["epoch"], server.epoch);
  });

  test("when it comes in parts, which move it once", async () => {
    server.parts = 3;
    const table = await sit();
    assert.deepEqual(plain(table.view), server.view);
    const seen = seenBy(table);
    server.reset("import", { ...startView(), pools: { p: { id: "p", value: 1 } } });
    await until(table, () => table.epoch === server.epoch);
    assert.deepEqual(plain(table.view), server.view);
    assert.deepEqual(
      seen.map(({ t }) => t),
      ["reset"],
    );
  });

  for (const garbage of ["sendGarbage", "sendText"] as const) {
    test(`after garbage (${garbage}): that connection ends and a new one resumes`, async () => {
      const table = await sit();
      server[garbage]();
      await server.waitSent("join", 2);
      assert.equal((await table.chat("well again")).v, 2);
      assert.ok(resumes()[1]);
    });
  }
});

describe("joining", () => {
  test("says why it was refused, and another table can still be joined", async () => {
    const client = await connect();
    await assert.rejects(client.join("nosuchtable"), refused("no_session"));
    assert.equal((await client.join(SESSION)).v, 1);
  });

  test("is tried again when it cannot be served now", async () => {
    server.joinFaults.push("unavailable", "archived");
    assert.equal((await sit()).v, 1);
    assert.equal(server.sent("join").length, 3);
  });
});

describe("waiting", () => {
  test("patience ends with Unavailable, and the next action still works", async () => {
    const table = await sit({ patience: 150 });
    server.faults.push(...Array<string>(50).fill("unavailable"));
    await assert.rejects(
      table.do("hit", { target: "c2" }),
      (error) => error instanceof dustup.Unavailable && error.id === server.sent("do")[0]?.["id"],
    );
    assert.equal(new Set(server.sent("do").map(({ id }) => id)).size, 1);
    server.faults = [];
    assert.equal((await table.do("hit", { target: "c2" })).v, 2);
  });

  test("a slow server holds up neither frames nor questions", async () => {
    const [table, elsewhere] = [await sit(), await sit()];
    server.faults.push("slow");
    let done = false;
    const action = table.do("hit", { target: "c2" }).finally(() => (done = true));
    await server.waitSent("do");
    await elsewhere.chat("meanwhile");
    await until(table, () => table.v === 2);
    assert.equal((await table.options()).v, 2);
    assert.equal(done, false);
    server.release.resolve();
    assert.equal((await action).v, 3);
  });

  test("an action given up before it was sent is never sent", async () => {
    const table = await sit();
    server.faults.push("slow");
    const first = table.chat("first");
    const given = new AbortController();
    const second = table.do("chat", { text: "second" }, { signal: given.signal });
    given.abort(new Error("changed my mind"));
    await assert.rejects(second, /changed my mind/);
    server.release.resolve();
    await first;
    await table.chat("third");
    assert.deepEqual(
      server.sent("do").map(({ command }) => (command as Fields)["text"]),
      ["first", "third"],
    );
  });

  test("waitFor gives what its predicate found, ends in time, and can be given up", async () => {
    const table = await sit();
    const waiting = table.waitFor((view) => view["pools"]?.["p"]);
    server.commit({ pools: { p: { id: "p", value: 4 } } }, "");
    assert.equal((await waiting)["value"], 4);
    await assert.rejects(
      table.waitFor(() => false, { timeout: 10 }),
      dustup.TimedOut,
    );
    await assert.rejects(
      table.waitFor(() => false, { signal: AbortSignal.abort(new Error("enough")) }),
      /enough/,
    );
  });

  test("every frame from the call of frames() on is read, in order, and a reader that falls behind is told", async () => {
    const table = await sit();
    const [frames, unread] = [table.frames(), table.frames()];
    for (let number = 0; number < 1001; number++) server.commit({}, `${number}`);
    for (let v = 2; v <= 1002; v++) assert.equal((await frames.next()).value.v, v);
    await frames.return?.();
    await until(table, () => table.v === 1002);
    let read = 0;
    await assert.rejects(async () => {
      for await (const _ of unread) read += 1;
    }, dustup.Lagged);
    assert.equal(read, 1000);
    assert.deepEqual(await unread.next(), { value: undefined, done: true });
  });

  test("prompts for this seat are told once and go when answered", async () => {
    const table = await sit();
    const choices = [
      { value: "yes", text: "Yes" },
      { value: "no", text: "No" },
    ];
    const ours = { id: "q1", to: "ann", kind: "k", type: "fake.q", text: "Well?", choices, default: "no" };
    server.commit({ prompts: { q0: { id: "q0", to: "bob" }, q1: ours } }, "A question.");
    server.say({ t: "prompt", session: SESSION, v: 2, prompt: ours });
    const prompts = table.prompts();
    assert.equal((await prompts.next()).value?.id, "q1");
    await table.chat("thinking");
    assert.deepEqual(
      table.promptsOpen.map(({ id }) => id),
      ["q1"],
    );
    const following = prompts.next();
    await table.answer("q1", "yes");
    assert.deepEqual(server.sent("do").at(-1)?.["command"], { type: "answer", prompt: "q1", choice: "yes" });
    assert.deepEqual(table.promptsOpen, []);
    server.commit({ prompts: { q2: { ...ours, id: "q2" }, q3: { ...ours, id: "q3", answered: true } } }, "Another, and one answered.");
    assert.equal((await following).value?.id, "q2");
    assert.deepEqual(
      table.promptsOpen.map(({ id }) => id),
      ["q2"],
    );
    await prompts.return?.();
  });

  test("a callback that fails disturbs nobody", async (context) => {
    const told = context.mock.method(console, "error", () => {});
    const table = await sit();
    table.onFrame(() => {
      throw new Error("mine");
    });
    const seen = seenBy(table);
    await table.chat("on");
    assert.deepEqual(
      seen.map(({ v }) => v),
      [2],
    );
    assert.equal(told.mock.callCount(), 1);
  });

  test("a callback may act: its action follows what it was told", async () => {
    const table = await sit();
    const answered = new Promise<dustup.Ack>((resolve) => {
      const stop = table.onFrame(() => (stop(), void table.chat("heard").then(resolve)));
    });
    server.commit({}, "Anyone?");
    assert.equal((await answered).v, 3);
  });
});

describe("the end", () => {
  const finals: [code: string, close: number, kind: new (...words: never[]) => dustup.Closed][] = [
    ["unauthorized", 4003, dustup.Unauthorized],
    ["expired", 4003, dustup.Unauthorized],
    ["unsupported_version", 4004, dustup.UnsupportedVersion],
  ];
  for (const [code, close, kind] of finals) {
    test(`what no retry can mend is thrown at once: ${code}`, async () => {
      server.welcomeError = { code, text: "Not here.", close };
      await assert.rejects(connect(), (error) => error instanceof kind && error.code === code && error.text === "Not here.");
      assert.equal(server.sent("hello").length, 1);
    });
  }

  test("a token withdrawn during play ends everything that waits", async () => {
    const table = await sit();
    server.welcomeError = { code: "revoked", text: "Your access has been withdrawn.", close: 4003 };
    const waits = [table.frames().next(), table.waitFor((view) => view["never"])];
    server.faults.push("cut before");
    for (const each of [table.chat("hello?"), ...waits, table.client.join(SESSION).then((again) => again.changed(again.changes))]) {
      await assert.rejects(each, dustup.Unauthorized);
    }
    assert.ok(table.lost instanceof dustup.Unauthorized);
    assert.equal(table.client.state.is, "closed");
    assert.equal(server.sent("hello").length, 2);
  });

  test("an address without a server is named in the error", async () => {
    await assert.rejects(
      dustup.connect("http://127.0.0.1:9", TOKEN, { WebSocket, wait: 1000 }),
      (error) => error instanceof dustup.Unavailable && /cannot reach ws:\/\/127\.0\.0\.1:9\/v1\/ws: .*ECONNREFUSED/.test(error.text),
    );
    await assert.rejects(dustup.connect("h:1", TOKEN, { WebSocket }), dustup.BadLink);
  });

  test("an address of something else says what it answered", async () => {
    await assert.rejects(dustup.connect(`${server.url}/elsewhere`, TOKEN, { WebSocket, wait: 1000 }), /answered|response: 400|404/);
  });

  test("closing fails what waits, and is safe to do twice", async () => {
    const table = await sit();
    server.faults.push("slow");
    const waiting = table.chat("too late");
    const failed = assert.rejects(waiting, dustup.Closed);
    await server.waitSent("do");
    await table.client.close();
    await failed;
    await table.client.close();
    await assert.rejects(table.options(), dustup.Closed);
    await assert.rejects(table.client.ping(), dustup.Closed);
  });

  test("a place without WebSocket is told what to do", { skip: "WebSocket" in globalThis && "this Node has one" }, async () => {
    await assert.rejects(dustup.connect(server.url, TOKEN), /install `ws`/);
  });
});

describe("the state of the connection", () => {
  test("is told as it changes", async () => {
    const table = await sit();
    const states: string[] = [];
    table.client.onState(({ is }) => states.push(is));
    server.dropAll();
    await server.waitSent("join", 2);
    await table.chat("back");
    assert.deepEqual(states, ["waiting", "connecting", "open"]);
    await table.client.close();
    assert.equal(states.at(-1), "closed");
  });

  test("a nudge ends a wait that the server did not ask for", async () => {
    const table = await sit({ firstDelay: 600_000, longestDelay: 600_000 });
    const waiting = new Promise<void>((resolve) => table.client.onState(({ is }) => is === "waiting" && resolve()));
    server.dropAll();
    await waiting;
    table.client.nudge();
    assert.equal((await table.chat("back")).v, 2);
  });

  test("a nudge does not come back before the time the server asked for", async () => {
    const table = await sit();
    const waiting = new Promise<dustup.ConnectionState>((resolve) =>
      table.client.onState((state) => state.is === "waiting" && resolve(state)),
    );
    server.goAway(600_000);
    assert.ok((await waiting).at! - Date.now() > 500_000);
    table.client.nudge();
    assert.equal(table.client.state.is, "waiting");
    assert.equal(server.connections, 1);
  });

  test("a nudge asks a connection that looks open whether it is", async () => {
    const table = await sit();
    table.client.nudge();
    await server.waitSent("ping");
    assert.equal((await table.chat("here")).v, 2);
    assert.equal(server.connections, 1);
  });
});
