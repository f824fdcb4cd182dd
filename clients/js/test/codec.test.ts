import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FRAME_OUT, decode, encode, type Message } from "../src/codec.js";
import { BadMessage } from "../src/errors.js";
import { hex, plain, vectors } from "./helpers.js";

interface Golden {
  name: string;
  from: "client" | "server";
  message: Message;
  msgpack: string;
}
interface Malformed {
  name: string;
  subprotocol: string;
  after: string;
  frame: [head: string, [piece: string, count: number], tail: string];
  code: string;
  close: number | null;
}

const GOLDEN = vectors<Golden>("messages.json");

describe("golden messages are read and written as written down", () => {
  test("there are some of each side", () => assert.deepEqual(new Set(GOLDEN.map(({ from }) => from)), new Set(["client", "server"])));
  for (const { name, from, message, msgpack } of GOLDEN) {
    test(`${from}: ${name}`, () => {
      assert.deepEqual(plain(decode(hex(msgpack))), message);
      assert.equal(Buffer.from(encode(message, FRAME_OUT)).toString("hex"), msgpack);
    });
  }
});

describe("golden garbage is refused: frames that are no map of the protocol's values, whoever sends them", () => {
  // The others are well-formed and wrong only as messages to a server, or at that moment (a second hello).
  const unreadable = vectors<Malformed>("malformed.json").filter(
    ({ name, subprotocol, after, code, close }) =>
      subprotocol === "dustup.v1.msgpack" && after === "welcome" && code === "bad_frame" && close === 4002 && !name.includes("hello"),
  );
  test("there is some", () => assert.ok(unreadable.length > 10));
  for (const { name, frame } of unreadable) {
    test(name, () => {
      const [head, [piece, count], tail] = frame;
      assert.throws(() => decode(hex(head + piece.repeat(count) + tail)), BadMessage);
    });
  }
});

describe("what the protocol does not carry is never read", () => {
  const within = (value: string): string => "82a174a470696e67a178" + value;
  const never: { [what: string]: string } = {
    "a float": within("cb3ff8000000000000"),
    "a float that is whole": within("cb3ff0000000000000"),
    "a short float": within("ca3f800000"),
    NaN: within("cb7ff8000000000000"),
    bytes: within("c40161"),
    "an extension": within("d40578"),
    "a long extension": within("c7010578"),
    "a timestamp": within("d6ff00000001"),
    "a number as key": "82a174a470696e670102",
    "bytes as key": "82a174a470696e67c4016102",
    "a list as key": "82a174a470696e679002",
    "2**53": within("cf0020000000000000"),
    "-2**53": within("d3ffe0000000000000"),
    "2**64-1": within("cfffffffffffffffff"),
    "a text that is no UTF-8": within("a2c328"),
    "a surrogate in UTF-8": within("a3eda080"),
    "65 levels": within("91".repeat(64) + "c0"),
    "very many levels": within("91".repeat(60_000) + "c0"),
    "a list that claims 4 GiB": within("ddffffffff"),
    "a text that claims 4 GiB": within("dbffffffff"),
    "a map that claims 4 GiB": within("dfffffffff"),
    "a map without its last value": "82a174a470696e67a178",
    "a second message": "81a174a470696e67c0",
    "the byte that is never used": within("c1"),
  };
  for (const [what, raw] of Object.entries(never)) test(what, () => assert.throws(() => decode(hex(raw)), BadMessage));

  test("and what it does carry is, to the last value", () => {
    const raw = within("9ad3ffe0000000000001cf001fffffffffffffd0ffd1ff00d2ffff0000ccff" + "cdffffceffffffffc0c3");
    const x = [-9007199254740991, 9007199254740991, -1, -256, -65536, 255, 65535, 4294967295, null, true];
    assert.deepEqual(plain(decode(hex(raw))), { t: "ping", x });
    assert.ok(decode(hex(within("91".repeat(63) + "c0"))), "64 levels");
  });
});

describe("what cannot go over the wire is refused before it is sent", () => {
  const bad: { [what: string]: unknown } = {
    "a fraction": 1.5,
    NaN: NaN,
    infinity: Infinity,
    "2**53": 2 ** 53,
    bigint: 1n,
    bytes: new Uint8Array(1),
    "a date": new Date(0),
    "a map object": new Map(),
    "a function": () => 1,
    "half of a surrogate pair": "\ud800",
    "half of a surrogate pair as key": { "\udfff": 1 },
    "a list with a hole": [1, , 2],
    "a large text": "x".repeat(65_536),
  };
  for (const [what, value] of Object.entries(bad)) {
    test(what, () => assert.throws(() => encode({ t: "do", command: { value } }), BadMessage));
  }

  test("sixteen levels go out and no more: the message itself is the first", () => {
    const nested = (levels: number): Message => {
      let value: unknown = [];
      for (let level = 2; level < levels; level++) value = [value];
      return { t: "x", value };
    };
    assert.ok(encode(nested(16)));
    assert.throws(() => encode(nested(17)), BadMessage);
  });

  test("a field that is undefined is left out", () => assert.deepEqual(encode({ t: "x", at: undefined }), encode({ t: "x" })));
});
