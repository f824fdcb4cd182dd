/** The pilot: plays to the end from options and prompts alone, the same way for the same seed. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { WebSocket } from "ws";
import * as dustup from "../src/index.js";
import { FakeServer, SESSION, TOKEN } from "./fake-server.js";
import type { Fields } from "./helpers.js";

let server: FakeServer;
let client: dustup.Client;
let table: dustup.Table;

async function start(prepare: (fake: FakeServer) => void = () => {}): Promise<void> {
  server = await new FakeServer().start();
  prepare(server);
  client = await dustup.connect(server.url, TOKEN, { WebSocket });
  table = await client.join(SESSION);
}
async function stop(): Promise<void> {
  await client.close();
  await server.stop();
}
const commands = (): Fields[] => server.sent("do").map(({ command }) => command as Fields);
const hp = (left: number) => (fake: FakeServer) => void (fake.view["combatants"]!["c2"]!["hp"] = left);

test("a fight is played to its end, the same way for the same seed", async () => {
  const runs: string[] = [];
  for (const seed of [1, 1, 2, 3, 4]) {
    await start(hp(8));
    const report = await new dustup.Pilot(table, seed).run();
    assert.equal(report.why, "over");
    assert.equal(table.view["encounters"], undefined);
    assert.equal(report.actions, server.executed.length);
    assert.equal(commands().filter(({ type }) => type === "hit").length, 8);
    runs.push(JSON.stringify(commands()));
    await stop();
  }
  assert.equal(runs[0], runs[1]);
  assert.ok(new Set(runs).size > 1, "seeds matter");
});

describe("at a table", () => {
  afterEach(stop);

  test("it stops at its limit, at any condition, and when told", async () => {
    await start(hp(50));
    assert.deepEqual(await new dustup.Pilot(table, 1).run({ maxActions: 3 }), { actions: 3, answers: 0, refused: 0, why: "max_actions" });
    const until = (view: dustup.View): boolean => view["combatants"]?.["c2"]?.["hp"] <= 40;
    assert.equal((await new dustup.Pilot(table, 1).run({ until })).why, "over");
    assert.equal(table.view["combatants"]?.["c2"]?.["hp"], 40);
    server.options = () => [];
    const stopper = new AbortController();
    const run = new dustup.Pilot(table, 1).run({ signal: stopper.signal });
    const asked = server.sent("options").length;
    await server.waitSent("options", asked + 1);
    stopper.abort(new Error("enough"));
    await assert.rejects(run, /enough/);
  });

  test("prompts are answered before anything else", async () => {
    const choices = [
      { value: "a", text: "A" },
      { value: "b", text: "B" },
    ];
    const ints = { least: 2, most: 2, low: 1, high: 6, choice: "a" };
    await start((fake) =>
      fake.commit({ prompts: { q0: { id: "q0", to: "bob" }, q1: { id: "q1", to: "ann", text: "?", choices, ints } } }, ""),
    );
    assert.equal((await new dustup.Pilot(table, 3).run()).answers, 1);
    const [answer] = commands();
    assert.deepEqual([answer?.["type"], answer?.["prompt"]], ["answer", "q1"]);
    const faces = (answer?.["ints"] ?? []) as number[];
    assert.equal(faces.length, answer?.["choice"] === "a" ? 2 : 0);
    assert.ok(faces.every((face) => face >= 1 && face <= 6));
  });

  test("it waits for frames and asks nothing while nothing changes", async () => {
    let encounter: Fields | undefined;
    await start((fake) => {
      encounter = fake.view["encounters"]!["e1"];
      delete fake.view["encounters"];
    });
    const run = new dustup.Pilot(table, 1).run();
    await server.waitSent("options");
    for (let line = 0; line < 3; line++) await table.chat("talk changes no options");
    assert.equal(server.sent("options").length, 1);
    server.commit({ encounters: { e1: encounter! } }, "A fight begins.");
    assert.equal((await run).why, "over");
  });

  test("a refused command is not tried again until something changes", async () => {
    await start((fake) => (fake.options = () => [{ type: "bad", text: "Bad", command: { type: "nonsense" } }]));
    const run = new dustup.Pilot(table, 1).run();
    await server.waitSent("options", 2);
    for (let time = 0; time < 3; time++) await client.ping(); // whatever the pilot still had to send has been sent by then
    assert.equal(commands().length, 1);
    server.commit({ pools: { p: { id: "p", value: 1 } } }, "Something changed.");
    await server.waitSent("options", 4);
    for (let time = 0; time < 3; time++) await client.ping();
    assert.equal(commands().length, 2);
    server.commit({}, "The end.", { gone: { encounters: ["e1"] } });
    assert.equal((await run).refused, 2);
  });
});

describe("its choice", () => {
  const STRIKE: dustup.Option = { type: "x.strike", text: "", command: { type: "strike" } };
  const END: dustup.Option = { type: "turn.end", text: "", command: { type: "turn.end" } };
  const pilot = (prefer?: dustup.Prefer): dustup.Pilot => new dustup.Pilot(table, 1, prefer ? { prefer } : {});
  const types = (one: dustup.Pilot, options: dustup.Option[], times: number): string[] =>
    Array.from({ length: times }, () => String(one.choose(options)?.type));

  beforeEach(() => start());
  afterEach(stop);

  test("is to act before ending the turn, and to end it at times", () => {
    const chosen = types(pilot(), [END, STRIKE], 400);
    const strikes = chosen.filter((type) => type === "strike").length;
    assert.ok(strikes > 200 && strikes < 400);
  });

  test("leaves talk and the GM's tools alone unless preferred", () => {
    const talk = ["gm.undo", "chat", "seat.leave", "roll", "test.propose", "turn.delay"].map((type) => ({
      type,
      text: "",
      command: { type },
    }));
    assert.equal(pilot().choose(talk), null);
    assert.deepEqual(pilot((option) => (option.type === "gm.undo" ? 1 : null)).choose(talk), { type: "gm.undo" });
    assert.deepEqual(pilot(["chat"]).choose(talk), { type: "chat" });
    assert.equal(pilot(() => 0).choose([STRIKE, END]), null);
  });

  test("leaves to another seat what that seat is here to play", async () => {
    const bobs = [{ ...STRIKE, combatant: "c2" }];
    assert.equal(pilot().choose(bobs), null, "who is here was not told yet");
    server.say({ t: "presence", session: SESSION, seats: { ann: 1 } });
    await client.ping();
    assert.ok(pilot().choose(bobs));
    server.say({ t: "presence", session: SESSION, seats: { ann: 1, bob: 1 } });
    await client.ping();
    assert.equal(pilot().choose(bobs), null);
    const stopper = new AbortController();
    const run = pilot().run({ signal: stopper.signal });
    await server.waitSent("options");
    server.say({ t: "presence", session: SESSION, seats: { ann: 1 } });
    await server.waitSent("options", 2);
    stopper.abort();
    await assert.rejects(run, { name: "AbortError" });
  });

  test("fills details within what is listed", () => {
    const choices = ["a", "b"].map((value) => ({ value, text: "" }));
    const params: dustup.Param[] = [
      { name: "target", text: "", choices },
      { name: "dice", text: "", kind: "int", min: 1, max: 3 },
      { name: "luck", text: "", kind: "int", optional: true, min: 0, max: 1 },
      { name: "note", text: "", kind: "text", optional: true },
    ];
    const one = pilot();
    const found = Array.from({ length: 200 }, () => one.choose([{ ...STRIKE, params }]) as Fields);
    const values = (name: string): Set<unknown> => new Set(found.map((command) => command[name]));
    assert.deepEqual(values("target"), new Set(["a", "b"]));
    assert.deepEqual(new Set([...values("dice")].sort()), new Set([1, 2, 3]));
    assert.deepEqual(new Set([...values("luck")].map(String)), new Set(["undefined", "0", "1"]));
    assert.deepEqual(values("note"), new Set([undefined]));
    assert.equal(pilot().choose([{ ...STRIKE, params: [{ name: "target", text: "", choices: [] }] }]), null, "one that cannot be filled");
  });
});

test("a fight is over only after it was on", () => {
  const over = dustup.fightOver();
  assert.equal(over({}), false);
  assert.equal(over({ encounters: { e1: {} } }), false);
  assert.equal(over({ encounters: {} }), true);
});
