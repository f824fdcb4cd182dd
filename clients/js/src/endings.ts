/**
 * What the end of a connection means: which ends are final, and with which error.
 */
import type { Message } from "./codec.js";
import { Closed, ProtocolError, Unauthorized, UnsupportedVersion } from "./errors.js";

const FINAL: { readonly [code: number]: readonly [name: string, text: string] } = {
  1003: ["bad_frame", "the server does not take binary messages at this address"],
  1007: ["bad_frame", "the server could not read what this client sent"],
  1009: ["too_large", "a message was larger than the other side takes"],
  4002: ["bad_frame", "the server could not read what this client sent"],
  4003: ["unauthorized", "the server does not accept the token"],
  4004: ["unsupported_version", "the server does not speak this client's protocol version"],
  4013: ["too_large", "a message was larger than the server takes"],
};
const FINAL_WORDS: ReadonlySet<string> = new Set(["unauthorized", "expired", "revoked", "unsupported_version"]);
const BYE = 4000;
const RATE_LIMITED = 4008;
const RATE_LIMITED_WAIT = 60_000;

/** The error of an end after which connecting again is pointless, else null. `told`: the server's last words, `error` or `bye`. */
export function final(code: number | null, told: Message | null, retryAfter: number | null): Closed | null {
  const word = typeof told?.["code"] === "string" ? told["code"] : "";
  const said = typeof told?.["text"] === "string" ? told["text"] : "";
  if (code === BYE && told?.t === "bye" && retryAfter === null) {
    return new Closed(said || "the server ended this connection", word || "bye");
  }
  const known = code === null ? undefined : FINAL[code];
  if (known === undefined && !FINAL_WORDS.has(word)) return null;
  const name = word || (known?.[0] ?? "");
  const text = said || (known?.[1] ?? word);
  if (code === 4003 || name === "unauthorized" || name === "expired" || name === "revoked") return new Unauthorized(text, name);
  if (code === 4004 || name === "unsupported_version") return new UnsupportedVersion(text, name);
  return new ProtocolError(text, name);
}

/** Milliseconds to wait before the next connection when the server told none: only a flood has a wait of its own. */
export function unsaidWait(code: number | null): number | null {
  return code === RATE_LIMITED ? RATE_LIMITED_WAIT : null;
}
