/**
 * The few calls that go over plain HTTP: make a table, turn an invite into a token.
 */
import { isMap } from "./codec.js";
import { BadMessage, Refused, Unavailable } from "./errors.js";
import { httpUrl } from "./links.js";

const WITHIN = 30_000;

/** A server's answer: a map of what it says, at least the fields named. */
export type Made = { session: string; [more: string]: unknown };
export type Redeemed = { token: string; session: string; seat: string; [more: string]: unknown };

/**
 * Make a table from a set-up (`{ruleset: "duel", sample: "yard"}`). `token` is an admin or person token where the server asks
 * for one. Throws Refused with the server's code, or Unavailable.
 */
export async function create(url: string, setup: { readonly [field: string]: unknown }, token?: string): Promise<Made> {
  return (await post(url, "/v1/sessions", setup, token)) as Made;
}

/**
 * Turn an invite `<session>.<code>` into a seat. An invite works once. Throws Refused (`unauthorized` when it was used, expired,
 * withdrawn or mistyped), or Unavailable.
 */
export async function redeem(url: string, code: string): Promise<Redeemed> {
  return (await post(url, "/v1/invites/redeem", { code })) as Redeemed;
}

async function post(url: string, path: string, body: unknown, token?: string): Promise<Record<string, unknown>> {
  const address = httpUrl(url) + path;
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  if (token) headers["Authorization"] = `Bearer ${token}`;
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(WITHIN) });
    text = await answer.text();
  } catch (error) {
    throw new Unavailable(`cannot reach ${address}: ${reason(error)}`);
  }
  return understood(answer, parsed(text), address);
}

function understood(answer: Response, found: unknown, address: string): Record<string, unknown> {
  if (answer.ok && isMap(found)) return found;
  if (answer.ok) throw new BadMessage(`${address} did not answer like a Dustup server`);
  const said = `${address} answered ${answer.status} ${answer.statusText}`.trimEnd();
  if (isMap(found) && typeof found["code"] === "string") {
    const { code, text, v, data, retry_after } = found;
    throw new Refused({
      code,
      text: typeof text === "string" ? text : "",
      v: typeof v === "number" ? v : null,
      data: isMap(data) ? data : null,
      retryAfter: typeof retry_after === "number" ? retry_after : null,
    });
  }
  if ([502, 503, 504].includes(answer.status)) throw new Unavailable(said);
  throw new Refused({ code: answer.status >= 500 ? "unavailable" : "bad_command", text: said });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch failed` says little; its cause says why. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message;
}
