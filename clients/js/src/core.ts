/**
 * The client without sockets: bytes of the server in, changed tables and bytes to send out.
 *
 * The caller brings the clock (any monotonic milliseconds) and moves bytes; this file decides. Everything that must hold after a
 * lost connection is decided here: resume points, which requests go again and in which order, when to give up.
 */
import { FRAME_IN, decode, encode, isMap, type Message } from "./codec.js";
import { final, unsaidWait } from "./endings.js";
import { BadMessage, Closed, Refused, Unavailable, type DustupError } from "./errors.js";
import type { CoreEvent } from "./events.js";
import type { Error as ErrorMessage, Question } from "./messages.js";
import * as read from "./read.js";
import { Replica } from "./replica.js";
import { Backoff, RETRIED, Request, Requests, refusal } from "./requests.js";
import { VERSION } from "./version.js";

/** The protocol version this client speaks. */
export const PROTOCOL = 1;
export const NAME = "dustup-js";

export const WELCOME_WITHIN = 10_000;
/** A connection that lived this long was a good one: waits start over. */
export const STEADY_AFTER = 5_000;
/** Nothing heard for so long: ask whether the server is still there. */
export const PING_AFTER = 30_000;
/** And no answer for so long: it is not. */
export const SILENT_AFTER = 10_000;

/** Codes that, said of a table without being asked, mean the seat is gone. */
const UNSEATED: ReadonlySet<string> = new Set(["revoked", "no_session", "expired", "unauthorized", "forbidden", "unknown_seat"]);

interface Join {
  id: string;
  deadline: number;
  due: number;
  waits: Backoff;
  sent: boolean;
}

export interface CoreOptions {
  /** The first half of action ids: fresh for each client, since it does not remember its last number. */
  client: string;
  /** From 0 to 1, as Math.random. */
  random: () => number;
  /** After so long a request or a first join without an answer fails with Unavailable. */
  patience?: number;
  firstWait?: number;
  longestWait?: number;
}

/** One client's state. Every method returns at once; all times are milliseconds. */
export class Core {
  readonly client: string;
  readonly patience: number;
  readonly tables = new Map<string, Replica>();
  welcome: Message | null = null;
  /** How long to wait before the next connection, and whether the server asked for it. */
  reconnectIn = 0;
  waitWasTold = false;
  readonly #token: string;
  readonly #newWaits: () => Backoff;
  readonly #reconnects: Backoff;
  readonly #joins = new Map<string, Join>();
  #requests = new Requests();
  #ids = 0;
  #out: Uint8Array[] = [];
  #connectedAt: number | null = null;
  #ready = false;
  #heardAt = 0;
  #probedAt: number | null = null;
  #retryAfter: number | null = null;
  #lastWords: Message | null = null;
  #fatal: Closed | null = null;

  constructor(token: string, { client, random, patience = 60_000, firstWait = 250, longestWait = 15_000 }: CoreOptions) {
    this.client = client;
    this.patience = patience;
    this.#token = token;
    this.#newWaits = () => new Backoff(random, firstWait, longestWait);
    this.#reconnects = this.#newWaits();
  }

  // ---- what the user asks

  /** Queue one request and give its id. Throws BadMessage for what cannot be sent, Closed or Refused when it makes no sense. */
  ask(kind: string, session: string | null, fields: { [field: string]: unknown }, now: number, ordered = false): string {
    if (this.#fatal) throw this.#fatal;
    if (session !== null && !this.tables.has(session)) throw new Refused({ code: "not_joined", text: "this table is not joined" });
    this.#ids += 1;
    const id = ordered ? `${this.client}.${this.#ids}` : `q${this.#ids}`;
    const raw = encode({ t: kind, id, ...fields, ...(session === null ? {} : { session }) }, this.limit);
    this.#requests.add(new Request(id, raw, session, ordered, now + this.patience, this.#newWaits()));
    this.#flush(now);
    return id;
  }

  /** Want a table. Ends in `changed` with `first`, or in `lost`. */
  join(session: string, token: string | null, history: number, now: number): void {
    if (this.#fatal) throw this.#fatal;
    const replica = new Replica(session, token, history);
    encode(replica.joinMessage("j"), this.limit);
    this.tables.set(session, replica);
    this.#want(session, now, now + this.patience);
    this.#flush(now);
  }

  /** Stop following a table. The id of the `leave` sent, or null when there is no connection to say it on. */
  leave(session: string, now: number): string | null {
    const replica = this.tables.get(session);
    this.tables.delete(session);
    this.#joins.delete(session);
    if (replica?.state !== "joined") return null;
    const id = this.ask("leave", null, { session }, now);
    this.#requests.get(id)!.diesWithConnection = true;
    return id;
  }

  /** The user no longer waits. What was not sent never will be; what was sent stays in its place until answered. */
  abandon(id: string): void {
    const request = this.#requests.get(id);
    if (!request) return;
    request.abandoned = true;
    if (!request.sent) this.#requests.pop(id);
  }

  // ---- what the connection does

  /** Bytes of the largest message the server takes. */
  get limit(): number {
    const limits = this.welcome?.["limits"];
    const limit = isMap(limits) ? limits["frame_in"] : undefined;
    return typeof limit === "number" ? limit : FRAME_IN;
  }

  /** True between `welcome` and the end of a connection. */
  get ready(): boolean {
    return this.#ready;
  }

  /** A socket is open: say hello. */
  connected(now: number): void {
    this.#out = [];
    this.#connectedAt = now;
    this.#heardAt = now;
    this.#probedAt = null;
    this.#retryAfter = null;
    this.#lastWords = null;
    const client = { name: NAME, version: VERSION };
    this.#out.push(encode({ t: "hello", token: this.#token, min: PROTOCOL, max: PROTOCOL, client }));
  }

  /** The socket is closed, or never opened. Sets `reconnectIn`; a `fatal` event says that trying again is pointless. */
  disconnected(now: number, code: number | null): CoreEvent[] {
    const lived = this.#connectedAt === null ? 0 : now - this.#connectedAt;
    this.#connectedAt = null;
    this.#ready = false;
    this.#out = [];
    const events: CoreEvent[] = [];
    for (const replica of this.tables.values()) {
      replica.out();
      this.#want(replica.session, now, null);
    }
    for (const request of this.#requests.all()) {
      request.sent = false;
      if (request.diesWithConnection) {
        this.#requests.pop(request.id);
        events.push({ is: "answered", id: request.id, message: { t: "ack", id: request.id } });
      } else if (request.abandoned) {
        this.#requests.pop(request.id);
      }
    }
    if (lived >= STEADY_AFTER) this.#reconnects.reset();
    const told = this.#retryAfter ?? unsaidWait(code);
    this.waitWasTold = told !== null && told > 0;
    this.reconnectIn = this.#reconnects.next(told);
    const reason = final(code, this.#lastWords, this.#retryAfter);
    this.#retryAfter = null;
    this.#lastWords = null;
    if (reason) events.push(...this.fail(reason));
    return events;
  }

  /** One message of the server. What is not understood is ignored, what is garbage ends the connection. */
  receive(raw: Uint8Array, now: number): CoreEvent[] {
    const events: CoreEvent[] = [];
    let kind = "";
    try {
      const message = decode(raw);
      kind = message.t;
      this.#heardAt = now;
      this.#probedAt = null;
      this.#take(message, now, events);
    } catch (error) {
      if (!(error instanceof BadMessage)) throw error;
      const what = kind ? `a broken \`${kind}\`` : "garbage";
      return [...events, { is: "hang up", code: 4002, text: `the server sent ${what}: ${error.text}` }];
    }
    this.#flush(now);
    return events;
  }

  /** Ask the server for a sign of life; without one the connection is given up. For when a machine may have slept. */
  probe(now: number): void {
    if (!this.#ready || this.#probedAt !== null) return;
    this.#probedAt = now;
    this.#ids += 1;
    this.#out.push(encode({ t: "ping", id: `p${this.#ids}` }));
  }

  /** Give up what has waited too long, and send what is due. To be called at `wakeAt`. */
  tick(now: number): CoreEvent[] {
    const events: CoreEvent[] = [];
    for (const request of this.#requests.all()) {
      if (request.deadline <= now) {
        this.#requests.pop(request.id);
        events.push({ is: "failed", id: request.id, error: request.expired() });
      }
    }
    for (const [session, join] of [...this.#joins]) {
      if (join.deadline > now) continue;
      this.#lose(session, new Unavailable("the table could not be joined in time: the server does not answer"), events);
    }
    if (this.#connectedAt !== null && !this.#ready && now - this.#connectedAt >= WELCOME_WITHIN) {
      events.push({ is: "hang up", code: 4014, text: "no welcome in time" });
    }
    if (this.#probedAt !== null && now - this.#probedAt >= SILENT_AFTER) {
      this.#probedAt = null;
      events.push({ is: "hang up", code: 1000, text: "the server has fallen silent" });
    } else if (this.#ready && now - this.#heardAt >= PING_AFTER) {
      this.probe(now);
    }
    this.#flush(now);
    return events;
  }

  /** When to call `tick` next; Infinity when there is nothing to wait for. */
  wakeAt(now: number): number {
    let next = this.#requests.nextTime(now);
    for (const join of this.#joins.values()) {
      next = Math.min(next, join.deadline);
      if (!join.sent && join.due > now) next = Math.min(next, join.due);
    }
    if (this.#connectedAt !== null && !this.#ready) next = Math.min(next, this.#connectedAt + WELCOME_WITHIN);
    if (this.#probedAt !== null) next = Math.min(next, this.#probedAt + SILENT_AFTER);
    else if (this.#ready) next = Math.min(next, this.#heardAt + PING_AFTER);
    return next;
  }

  /** Bytes to send, in order; they are handed out once. */
  outgoing(): Uint8Array[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** End everything: every open request and every table fails with `error`. */
  fail(error: Closed): CoreEvent[] {
    this.#fatal = error;
    this.#ready = false;
    this.#connectedAt = null;
    this.#probedAt = null;
    this.#out = [];
    const events: CoreEvent[] = this.#requests.all().map(({ id }) => ({ is: "failed", id, error }));
    this.#requests = new Requests();
    for (const session of [...this.tables.keys()]) this.#lose(session, error, events);
    return [...events, { is: "fatal", error }];
  }

  // ---- messages

  #take(message: Message, now: number, events: CoreEvent[]): void {
    switch (message.t) {
      case "welcome":
        this.welcome = message;
        this.#ready = true;
        events.push({ is: "welcomed", message });
        break;
      case "joined":
      case "frame":
      case "reset":
        this.#onView(message, now, events);
        break;
      case "prompt":
      case "presence":
        this.#onTold(message, events);
        break;
      case "ack":
      case "options":
      case "odds":
      case "history":
      case "pong":
        this.#onAnswer(message, now, events);
        break;
      case "error":
        this.#onError(message, now, events);
        break;
      case "bye":
        this.#retryAfter = read.optional(read.int, message, "retry_after") ?? null;
        this.#lastWords = message;
        break;
    }
  }

  #onView(message: Message, now: number, events: CoreEvent[]): void {
    const session = read.text(message, "session");
    const replica = this.tables.get(session);
    if (!replica || (message.t === "joined" ? !this.#joins.has(session) : replica.state !== "joined")) return;
    const whole = replica.gather(message);
    if (!whole) return;
    if (whole.t === "joined") {
      const first = replica.v === 0;
      replica.joined(whole);
      this.#joins.delete(session);
      this.#reconnects.reset(); // whatever ended the last connection, this server serves us
      if (first || whole["resumed"] !== true) events.push({ is: "changed", session, message: whole, first });
    } else if (whole.t === "reset") {
      replica.reset(whole);
      events.push({ is: "changed", session, message: whole, first: false });
    } else {
      const outcome = replica.frame(whole);
      if (outcome === "applied") events.push({ is: "changed", session, message: whole, first: false });
      else if (outcome === "gap") this.#rejoin(replica, now);
    }
  }

  #onTold(message: Message, events: CoreEvent[]): void {
    const session = read.text(message, "session");
    const replica = this.tables.get(session);
    if (!replica) return;
    if (message.t === "presence") {
      replica.presence = read.counts(message, "seats");
    } else {
      const prompt = read.map(message, "prompt");
      replica.asked.set(read.text(prompt, "id"), prompt as Question);
    }
    events.push({ is: "told", session });
  }

  #onAnswer(message: Message, now: number, events: CoreEvent[]): void {
    const id = read.optional(read.text, message, "id");
    const request = id === undefined ? undefined : this.#requests.get(id);
    if (!request) return;
    const v = read.optional(read.int, message, "v") ?? 0;
    this.#requests.pop(request.id);
    events.push({ is: "answered", id: request.id, message });
    const replica = request.session === null ? undefined : this.tables.get(request.session);
    if (replica?.state !== "joined" || message.t !== "ack" || message["again"] === true) return;
    if (v > replica.v) this.#rejoin(replica, now); // a frame comes before its ack: one was lost
  }

  #onError(message: Message, now: number, events: CoreEvent[]): void {
    const code = read.text(message, "code");
    const retryAfter = read.optional(read.int, message, "retry_after") ?? null;
    const id = read.optional(read.text, message, "id");
    const session = read.optional(read.text, message, "session") ?? "";
    const error = { ...message, t: "error", code, text: read.optional(read.text, message, "text") ?? "" } as ErrorMessage;
    if (id !== undefined) {
      const request = this.#requests.get(id);
      const joining = [...this.#joins].find(([, join]) => join.sent && join.id === id);
      if (request) this.#requestRefused(request, error, now, events);
      else if (joining) this.#joinRefused(joining[0], error, now, events);
      return;
    }
    const replica = this.tables.get(session);
    if (!replica) {
      this.#lastWords = message;
      this.#retryAfter = retryAfter ?? this.#retryAfter;
      if (RETRIED.has(code)) for (const each of this.#requests.all()) if (each.sent) each.again(error, now);
    } else if (this.#joins.get(session)?.sent) {
      this.#joinRefused(session, error, now, events);
    } else if (code === "resync") {
      this.#rejoin(replica, now);
    } else if (UNSEATED.has(code)) {
      this.#lose(session, refusal(error), events);
    } else if (RETRIED.has(code) && code !== "rate_limited") {
      // The server let go of this table, and says it will have it again.
      replica.out();
      const join = this.#want(session, now, null);
      join.due = now + join.waits.next(retryAfter);
    }
  }

  // ---- inner workings

  #requestRefused(request: Request, error: ErrorMessage, now: number, events: CoreEvent[]): void {
    const { id } = request;
    if (!RETRIED.has(error.code) || request.abandoned) {
      this.#requests.pop(id);
      events.push({ is: "failed", id, error: refusal(error) });
      return;
    }
    request.again(error, now);
    const replica = request.session === null ? undefined : this.tables.get(request.session);
    if (request.due > request.deadline) {
      this.#requests.pop(id);
      events.push({ is: "failed", id, error: request.expired() });
    } else if (error.code === "not_joined" && replica) {
      replica.out();
      this.#want(replica.session, now, null);
    }
  }

  #joinRefused(session: string, error: ErrorMessage, now: number, events: CoreEvent[]): void {
    const replica = this.tables.get(session)!;
    const join = this.#joins.get(session)!;
    if (RETRIED.has(error.code) || error.code === "busy") {
      join.sent = false;
      join.due = now + join.waits.next(error.retry_after);
    } else if ((error.code === "too_old" || error.code === "resync") && !replica.fresh) {
      this.#rejoin(replica, now);
    } else {
      this.#lose(session, refusal(error), events);
    }
  }

  /** Join (again) as soon as possible. Without a deadline an earlier one is kept, if any: a table once joined is waited for. */
  #want(session: string, now: number, deadline: number | null): Join {
    const known = this.#joins.get(session);
    this.#ids += 1;
    const join: Join = {
      id: `j${this.#ids}`,
      deadline: deadline ?? known?.deadline ?? Infinity,
      due: now,
      waits: known?.waits ?? this.#newWaits(),
      sent: false,
    };
    this.#joins.set(session, join);
    return join;
  }

  /** The view cannot be trusted to be whole: fetch all of it. */
  #rejoin(replica: Replica, now: number): void {
    replica.out();
    replica.fresh = true;
    this.#want(replica.session, now, null);
  }

  #lose(session: string, error: DustupError, events: CoreEvent[]): void {
    this.tables.delete(session);
    this.#joins.delete(session);
    for (const request of this.#requests.all()) {
      if (request.session !== session) continue;
      this.#requests.pop(request.id);
      events.push({ is: "failed", id: request.id, error });
    }
    events.push({ is: "lost", session, error });
  }

  #flush(now: number): void {
    if (!this.#ready) return;
    for (const [session, join] of this.#joins) {
      if (join.sent || join.due > now) continue;
      const replica = this.tables.get(session)!;
      this.#out.push(encode(replica.joinMessage(join.id), this.limit));
      replica.state = "joining";
      join.sent = true;
    }
    const joined = new Set<string>();
    for (const replica of this.tables.values()) if (replica.state === "joined") joined.add(replica.session);
    for (const request of this.#requests.sendable(joined, now)) {
      this.#out.push(request.raw);
      request.sent = request.tried = true;
    }
  }
}
