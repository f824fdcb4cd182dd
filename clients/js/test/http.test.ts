/** The few calls over plain HTTP, against a small server of the test's own. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { BadMessage, Refused, Unavailable, http } from "../src/index.js";

let site: Server;
let url: string;
let status = 200;
let body: string | Buffer = "{}";
let asked: unknown[] = [];

before(async () => {
  site = createServer(async (request, answer) => {
    let sent = "";
    for await (const piece of request) sent += String(piece);
    asked.push([request.method, request.url, JSON.parse(sent), request.headers.authorization ?? null]);
    answer.writeHead(status).end(body);
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
after(() => void site.close());

function answering(code: number, text: string | Buffer): void {
  [status, body, asked] = [code, text, []];
}

test("a table is made with the token in a header", async () => {
  answering(201, '{"session": "k3v9mq2w"}');
  assert.deepEqual(await http.create(`${url}/`, { ruleset: "duel" }, "admin"), { session: "k3v9mq2w" });
  assert.deepEqual(asked, [["POST", "/v1/sessions", { ruleset: "duel" }, "Bearer admin"]]);
});

test("an invite is exchanged by POST and never put in an address", async () => {
  answering(200, '{"token": "t", "session": "abc", "seat": "ann"}');
  assert.equal((await http.redeem(url, "abc.code")).seat, "ann");
  assert.deepEqual(asked, [["POST", "/v1/invites/redeem", { code: "abc.code" }, null]]);
});

test("a refusal keeps code and text", async () => {
  answering(401, '{"code": "unauthorized", "text": "Used already.", "retry_after": 5}');
  await assert.rejects(http.redeem(url, "abc.code"), { code: "unauthorized", text: "Used already.", retryAfter: 5 });
});

const others: [code: number, text: string | Buffer, kind: new (...words: never[]) => Error][] = [
  [502, "<html>", Unavailable],
  [503, "", Unavailable],
  [404, "<html>", Refused],
  [500, "oops", Refused],
  [200, "<html>", BadMessage],
  [200, "[]", BadMessage],
  [200, Buffer.of(0xff), BadMessage],
];
for (const [code, text, kind] of others) {
  test(`what is no answer of a Dustup server says so: ${code} ${kind.name} ${JSON.stringify(String(text))}`, async () => {
    answering(code, text);
    await assert.rejects(http.create(url, {}), (error) => error instanceof kind && error.message.includes("127.0.0.1"));
  });
}

test("a server that is not there is unavailable", async () => {
  await assert.rejects(http.create("http://127.0.0.1:9", {}), (error) => error instanceof Unavailable && /cannot reach/.test(error.text));
});
