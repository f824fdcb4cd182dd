/** The examples of README.md, run as they stand but for address and token, against the package as it is published. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import * as dustup from "../src/index.js";
import { FakeServer, SESSION, TOKEN } from "./fake-server.js";

const PACKAGE = new URL("../../", import.meta.url);
const CALL = 'await main("http://localhost:8750", "YOUR-TOKEN");';

let folder: string;
let examples: string[];
let server: FakeServer;

before(async () => {
  // Within the package, where its own name leads to dist/.
  folder = await mkdtemp(fileURLToPath(new URL("build/readme-", PACKAGE)));
  const readme = await readFile(new URL("README.md", PACKAGE), "utf8");
  examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code!);
  (globalThis as { WebSocket?: unknown }).WebSocket ??= WebSocket;
});
beforeEach(async () => {
  server = await new FakeServer().start();
});
afterEach(() => server.stop());
after(() => rm(folder, { recursive: true }));

async function module(code: string): Promise<{ [name: string]: unknown }> {
  const path = `${folder}/example-${code.length}.mjs`;
  await writeFile(path, code);
  return (await import(path)) as { [name: string]: unknown };
}

test("the first plays a fight, in ten lines", async (context) => {
  const code = examples[0]!;
  assert.ok(code.includes(CALL));
  assert.ok(
    code
      .replace(CALL, "")
      .split("\n")
      .filter((line) => line.trim()).length <= 10,
  );
  const told = context.mock.method(console, "log", () => {});
  await module(code.replace(CALL, `await main(${JSON.stringify(server.url)}, ${JSON.stringify(TOKEN)});`));
  assert.deepEqual(told.mock.calls[0]?.arguments.slice(0, 2), ["ann", "did"]);
  assert.equal(server.view["encounters"], undefined);
});

test("the second shows what happens, answers prompts and does what is legal", async (context) => {
  const { play } = (await module(examples[1]!)) as { play: (table: dustup.Table) => Promise<void> };
  const told = context.mock.method(console, "log", () => {});
  server.options = () => [{ type: "fake.end", text: "End the turn", command: { type: "turn.end" } }];
  const client = await dustup.connect(server.url, TOKEN);
  try {
    const table = await client.join(SESSION);
    const playing = assert.rejects(play(table), dustup.Closed);
    server.commit({ prompts: { q1: { id: "q1", to: "ann", choices: [{ value: "no", text: "No" }], default: "no" } } }, "A question.");
    await server.waitSent("do", 3);
    await client.close();
    await playing;
  } finally {
    await client.close();
  }
  assert.equal(told.mock.calls[0]?.arguments[0], "A question.");
  const done = server.sent("do").map(({ command }) => command as { [field: string]: unknown });
  assert.deepEqual(done.slice(0, 2), [{ type: "answer", prompt: "q1", choice: "no" }, { type: "turn.end" }]);
});
