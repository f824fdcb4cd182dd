/** What several tests share: messages of a made-up server as bytes, and a core at a table. */
import { readFileSync } from "node:fs";
import { Decoder, encode } from "@msgpack/msgpack";
import { Core, type CoreOptions } from "../src/core.js";

export const SESSION = "k3v9mq2w7rt5xyab";
export const EPOCH = "00000000000000e1";

export type Fields = { [field: string]: unknown };

/** Found from the compiled test, build/test/. */
export const ROOT = new URL("../../../../", import.meta.url);

export function vectors<T>(name: string): T[] {
  return JSON.parse(readFileSync(new URL(`protocol/vectors/${name}`, ROOT), "utf8")) as T[];
}

export const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));
export const pack = (message: Fields): Uint8Array => encode(message, { ignoreUndefined: true });
export const unpack = (raw: Uint8Array): Fields & { t: string } => new Decoder().decode(raw) as Fields & { t: string };
/** The same values in ordinary objects, for comparing. */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export const stamp = (v: number): string => v.toString(16).padStart(16, "0");

export const welcome = (limits: Fields = {}): Uint8Array =>
  pack({ t: "welcome", version: 1, person: "ann", now: 0, limits: { frame_in: 65536, ...limits }, sessions: [] });

export function joined(v: number, view?: Fields, more: Fields = {}): Uint8Array {
  const at = { t: "joined", session: SESSION, seat: "ann", role: "player", epoch: EPOCH, v, stamp: stamp(v) };
  return pack({ ...at, ruleset: "r", variant: "", resumed: view === undefined, view, ...more });
}

export const frame = (v: number, more: Fields = {}): Uint8Array => pack({ t: "frame", session: SESSION, v, stamp: stamp(v), ...more });

export const core = (settings: Partial<CoreOptions> = {}): Core => new Core("a token", { client: "me", random: seeded(1), ...settings });

/** A small generator of its own, so that the waits of a test are the same each time. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const sent = (client: Core): (Fields & { t: string })[] => client.outgoing().map(unpack);
export const kinds = (messages: readonly { t: string }[]): string[] => messages.map(({ t }) => t);

/** Connected and joined at v 1, at time 0. */
export function seated(settings: Partial<CoreOptions> = {}): Core {
  const client = core(settings);
  client.connected(0);
  client.receive(welcome(), 0);
  client.join(SESSION, null, 0, 0);
  client.receive(joined(1, { pools: { p: { value: 1 } } }), 0);
  client.outgoing();
  return client;
}

export const act = (client: Core, at = 0, fields: Fields = {}): string =>
  client.ask("do", SESSION, { command: { type: "hit", ...fields } }, at, true);

/** A new connection, up to and including the answer to the join. */
export function again(client: Core, at: number, answer: Uint8Array): void {
  client.connected(at);
  client.receive(welcome(), at);
  client.outgoing();
  client.receive(answer, at);
}
