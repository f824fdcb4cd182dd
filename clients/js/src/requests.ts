/**
 * What this client asked and has no answer to yet, and when a refusal means "ask again by the same id". Times are milliseconds.
 */
import { Refused, Unavailable, type DustupError } from "./errors.js";
import type { Error as ErrorMessage } from "./messages.js";

/** Codes that say nothing about the request itself: it is sent again, by the same id, when its time has come. */
export const RETRIED: ReadonlySet<string> = new Set([
  "unavailable",
  "shutting_down",
  "rate_limited",
  "read_only",
  "archived",
  "not_joined",
]);

/** Requests one client may have open at a time. */
export const MOST = 1000;

/** Requests sent and unanswered at a time; a server refuses more than 256. */
export const WINDOW = 200;

/** Waits between attempts: they double up to `cap`, varied so that many clients do not come back at once. */
export class Backoff {
  #tries = 0;

  constructor(
    readonly random: () => number,
    readonly first: number,
    readonly cap: number,
  ) {}

  /** The next wait. A time told by the server is never undercut, and stretched by up to a quarter. */
  next(retryAfter?: number | null): number {
    const spread = this.random();
    const wait = Math.min(this.cap, this.first * 2 ** Math.min(this.#tries, 30)) * (0.5 + spread / 2);
    this.#tries += 1;
    return retryAfter ? retryAfter * (1 + spread / 4) : wait;
  }

  reset(): void {
    this.#tries = 0;
  }
}

/**
 * One open request. `ordered` ones are actions: one at a time per session, in the order asked, never twice.
 * `due` and `deadline` are moments of the caller's monotonic clock: not before, and not after.
 */
export class Request {
  sent = false;
  tried = false;
  due = 0;
  last: ErrorMessage | null = null;
  abandoned = false;
  diesWithConnection = false;

  constructor(
    readonly id: string,
    readonly raw: Uint8Array,
    readonly session: string | null,
    readonly ordered: boolean,
    readonly deadline: number,
    readonly waits: Backoff,
  ) {}

  /** The server could not do it now: send the same bytes later. */
  again(answer: ErrorMessage, now: number): void {
    this.sent = false;
    this.last = answer;
    this.due = now + this.waits.next(answer.retry_after);
  }

  /** The error for a request whose time is up. */
  expired(): DustupError {
    if (this.last?.code === "rate_limited") return refusal(this.last);
    const why = this.last ? ` (the server said: ${this.last.text || this.last.code})` : "";
    if (!this.tried) return new Unavailable(`the server could not be reached in time; nothing was sent${why}`);
    if (!this.ordered) return new Unavailable(`no answer in time${why}`);
    return new Unavailable(`no answer in time${why}: it may have been done or not, look at the table before doing it again`, this.id);
  }
}

/** A server's `error` message as an error to throw. */
export function refusal(message: ErrorMessage): Refused {
  const { code, text, v = null, data = null, retry_after: retryAfter = null } = message;
  return new Refused({ code, text, v, data, retryAfter });
}

/** The open requests of one client, in the order asked. */
export class Requests {
  readonly #open = new Map<string, Request>();

  /** Throws Unavailable when too many are open already. */
  add(request: Request): void {
    if (this.#open.size >= MOST) throw new Unavailable(`${MOST} requests are open already: wait for answers before asking more`);
    this.#open.set(request.id, request);
  }

  all(): Request[] {
    return [...this.#open.values()];
  }

  get(id: string): Request | undefined {
    return this.#open.get(id);
  }

  pop(id: string): Request | undefined {
    const request = this.#open.get(id);
    this.#open.delete(id);
    return request;
  }

  /** Those to send now: their session is joined, their time has come, and no earlier action of that session is open. */
  sendable(joined: ReadonlySet<string>, now: number): Request[] {
    const busy = new Set<string>();
    const found: Request[] = [];
    let room = WINDOW;
    for (const request of this.#open.values()) if (request.sent) room -= 1;
    for (const request of this.#open.values()) {
      if (room <= 0) break;
      if (request.ordered && request.session !== null) {
        if (busy.has(request.session)) continue;
        busy.add(request.session);
      }
      if (!request.sent && request.due <= now && (request.session === null || joined.has(request.session))) {
        room -= 1;
        found.push(request);
      }
    }
    return found;
  }

  /** The next moment at which one of them is due or expires; Infinity when there is none. */
  nextTime(now: number): number {
    let next = Infinity;
    for (const request of this.#open.values()) {
      next = Math.min(next, request.deadline);
      if (!request.sent && request.due > now) next = Math.min(next, request.due);
    }
    return next;
  }
}
