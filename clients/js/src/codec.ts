/**
 * Messages to bytes and back: msgpack with the protocol's limits, one map per WebSocket message.
 */
import { Decoder, Encoder } from "@msgpack/msgpack";
import { BadMessage } from "./errors.js";
import { scan } from "./scan.js";

/** Any message: a map with a text `t`. What else it holds is checked where it is used. */
export interface Message {
  t: string;
  [field: string]: unknown;
}

/** How deep maps and lists may nest in what a server takes; the message itself is the first level. */
export const DEPTH_IN = 16;
/** How deep this client reads what a server sends. */
export const DEPTH_OUT = 64;
/** Bytes a server takes in one message unless its `welcome` says otherwise. */
export const FRAME_IN = 64 * 1024;
/** Bytes a server sends in one message; larger views come in numbered parts. */
export const FRAME_OUT = 1024 * 1024;

const encoder = new Encoder({ ignoreUndefined: true, maxDepth: DEPTH_OUT + 1 });
const decoder = new Decoder();

/** One message as bytes. Throws BadMessage for what the protocol does not carry or what is larger than `limit` bytes. */
export function encode(message: Message, limit: number = FRAME_IN): Uint8Array {
  check(message, DEPTH_IN);
  const raw = encoder.encode(message);
  if (raw.length > limit) throw new BadMessage(`too large: ${raw.length} bytes, the server takes ${limit}`);
  return raw;
}

/** One message from bytes. Throws BadMessage for anything but exactly one map of the protocol's values with a text `t`. */
export function decode(raw: Uint8Array): Message {
  if (raw.length > 2 * FRAME_OUT) throw new BadMessage(`not a message: ${raw.length} bytes`);
  scan(raw, DEPTH_OUT);
  let message: unknown;
  try {
    message = decoder.decode(raw);
  } catch (error) {
    throw new BadMessage(`not a message: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isMap(message)) throw new BadMessage("not a message: a map is needed");
  if (typeof message["t"] !== "string") throw new BadMessage("not a message: no tag `t`");
  return message as Message;
}

/** True for a plain map, as decoded or written down. */
export function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const kind: unknown = Object.getPrototypeOf(value);
  return kind === Object.prototype || kind === null;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Throw BadMessage unless `value` is made of plain maps, lists, texts, whole numbers in range, booleans and null.
 * Fields that are undefined count as left out. Maps and lists may nest `depth` levels, `value` being the first.
 */
export function check(value: unknown, depth: number): void {
  switch (typeof value) {
    case "string":
      if (LONE_SURROGATE.test(value)) throw new BadMessage("half of a surrogate pair does not go over the wire");
      return;
    case "number":
      if (!Number.isInteger(value)) throw new BadMessage(`only whole numbers go over the wire, not ${value}`);
      if (!Number.isSafeInteger(value)) throw new BadMessage("whole numbers lie within ±(2^53−1)");
      return;
    case "boolean":
      return;
    case "object":
      break;
    default:
      throw new BadMessage(`${typeof value} values do not go over the wire`);
  }
  if (value === null) return;
  if (depth === 0) throw new BadMessage("nested too deep to go over the wire");
  if (Array.isArray(value)) {
    // Not for..of over holes: a hole is an undefined, which a list cannot carry.
    for (let at = 0; at < value.length; at++) check(value[at], depth - 1);
  } else if (isMap(value)) {
    for (const [key, each] of Object.entries(value)) {
      if (each === undefined) continue;
      check(key, 0);
      check(each, depth - 1);
    }
  } else {
    throw new BadMessage(`${value.constructor?.name ?? "such"} values do not go over the wire`);
  }
}
