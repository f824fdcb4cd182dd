/**
 * One joined table: its live view, what may be done, and what happens at it.
 */
import type { Client } from "./client.js";
import { DustupError, TimedOut } from "./errors.js";
import { Feed } from "./feed.js";
import type { Chances, Command, Frame, Joined, Option, PastEntry, Question, Reset } from "./messages.js";
import type { Message } from "./codec.js";
import type { Replica, View } from "./replica.js";

/**
 * An action is done and durable as told. `again` is true when this very action had been done before (a repeated send).
 * `v`: the table's version with the action in it. `durability`: memory, os, disk or replicas:n.
 */
export interface Ack {
  readonly id: string;
  readonly session: string;
  readonly v: number | null;
  readonly durability: string | null;
  readonly again: boolean;
}

/** Legal options as the server lists them, and the version `v` they were computed at. */
export type Options = Option[] & { readonly v: number };
/** Entries of the past, oldest first; `more` says whether earlier ones exist. */
export type Page = PastEntry[] & { readonly more: boolean };
/** What moves a view: a frame, or a `joined` or `reset` when all of it was replaced. */
export type Move = Frame | Joined | Reset;

export interface DoOptions {
  /** The version the command was meant for: refused as `stale` if the table has changed since. */
  at?: number;
  /** Stop waiting. What was not sent yet never will be; what was sent may still happen. */
  signal?: AbortSignal;
}

export interface WaitOptions {
  /** Milliseconds. */
  timeout?: number;
  signal?: AbortSignal;
}

type Fields = { readonly [field: string]: unknown };

/** A table this client sits at. Made by `Client.join`; ends when left, lost, or when the client closes. */
export class Table {
  readonly client: Client;
  readonly #replica: Replica;
  readonly #feeds = new Set<Feed<Move>>();
  readonly #promptFeeds = new Map<Feed<Question>, Set<string>>();
  readonly #onFrame = new Set<(move: Move) => void>();
  readonly #onChange = new Set<() => void>();
  #waiters: (() => void)[] = [];
  #changes = 0;
  #lost: DustupError | null = null;

  /** @internal */
  constructor(client: Client, replica: Replica) {
    this.client = client;
    this.#replica = replica;
  }

  // ---- what is

  get session(): string {
    return this.#replica.session;
  }
  /** `{kind: {id: {field: value}}}`. A new object after each change; what a change did not touch stays the same object. */
  get view(): View {
    return this.#replica.view;
  }
  /** The version of the view. */
  get v(): number {
    return this.#replica.v;
  }
  get stamp(): string {
    return this.#replica.stamp;
  }
  get epoch(): string {
    return this.#replica.epoch;
  }
  get seat(): string {
    return this.#replica.seat;
  }
  get role(): string {
    return this.#replica.role;
  }
  get ruleset(): string {
    return this.#replica.ruleset;
  }
  get variant(): string {
    return this.#replica.variant;
  }
  /** The last frames seen (those of `join({history})` first), oldest first, at most 200. */
  get recent(): readonly PastEntry[] {
    return this.#replica.recent as unknown as readonly PastEntry[];
  }
  /** Open connections by seat, as last told. */
  get presence(): { readonly [seat: string]: number } {
    return this.#replica.presence;
  }
  /** Prompts that wait for this seat's answer. */
  get promptsOpen(): Question[] {
    return this.#replica.openPrompts();
  }
  /** Why the table has ended, null while it lives. */
  get lost(): DustupError | null {
    return this.#lost;
  }
  /** Grows with everything that arrives for this table. To be given to `changed`. */
  get changes(): number {
    return this.#changes;
  }

  // ---- what may be done

  /**
   * Do one command: `do("attack", {target: "c2"})` or `do({type: "attack", target: "c2"})`.
   *
   * Sent until answered, by one id, through lost connections: it happens at most once. When this resolves, the view has it.
   * Throws Refused (nothing done), Unavailable (outcome unknown after the client's patience), BadMessage, Closed.
   */
  async do(command: string | Command, fields: Fields = {}, options: DoOptions = {}): Promise<Ack> {
    const whole = typeof command === "string" ? { type: command, ...fields } : { ...command, ...fields };
    const ack = this.#ack(await this.#ask("do", { command: whole, at: options.at }, true, options.signal));
    if (ack.v !== null && ack.v > this.v) await this.#catchUp(ack.v);
    return ack;
  }

  /** Answer a prompt by its id with the `value` of one of its choices, and the numbers it asks for, if it does. Throws as `do`. */
  answer(prompt: string, choice: Question["default"], ints?: readonly number[]): Promise<Ack> {
    return this.do("answer", { prompt, choice, ints: ints && [...ints] });
  }

  /** Say something to everyone at the table. Throws as `do`. */
  chat(text: string, fields: Fields = {}): Promise<Ack> {
    return this.do("chat", { text, ...fields });
  }

  /** Post a longer text to the table. Throws as `do`. */
  post(text: string, fields: Fields = {}): Promise<Ack> {
    return this.do("post", { text, ...fields });
  }

  /** Add this seat's own salt (1..64 characters) to the dice before the first roll. Throws as `do`. */
  async salt(text: string): Promise<Ack> {
    return this.#ack(await this.#ask("salt", { salt: text }, true));
  }

  /** What this seat may do now. */
  async options(): Promise<Options> {
    const answer = await this.#ask("options", {});
    return Object.assign((answer["options"] ?? []) as Option[], { v: (answer["v"] ?? 0) as number });
  }

  /** Exact chances of a command, as fractions `"13/400"`. */
  async odds(command: Command): Promise<Chances> {
    return (await this.#ask("odds", { command: { ...command } }))["odds"] as Chances;
  }

  /** Up to `limit` (1..200) past entries before version `before` (the newest when left out), as this seat may see them. */
  async history({ before, limit = 50 }: { before?: number; limit?: number } = {}): Promise<Page> {
    const answer = await this.#ask("history", { limit, before });
    return Object.assign((answer["frames"] ?? []) as PastEntry[], { more: answer["more"] === true });
  }

  /** Stop following the table. The seat stays yours; join again at any time. */
  leave(): Promise<void> {
    return this.client._leave(this.session);
  }

  // ---- what happens

  /**
   * Everything that moves the view from now on, in order: frames, and `reset` or `joined` messages when all of it was replaced.
   * Ends by throwing Lagged when more than 1000 wait unread, or the error that ended the table.
   */
  frames(): AsyncIterableIterator<Move> {
    const feed: Feed<Move> = new Feed(() => this.#feeds.delete(feed));
    this.#feeds.add(feed);
    if (this.#lost) feed.end(this.#lost);
    return feed;
  }

  /** Every prompt for this seat once: those open now, then each new one. Ends as `frames` does. */
  prompts(): AsyncIterableIterator<Question> {
    const feed: Feed<Question> = new Feed(() => this.#promptFeeds.delete(feed));
    this.#promptFeeds.set(feed, new Set());
    if (this.#lost) feed.end(this.#lost);
    this.#feedPrompts();
    return feed;
  }

  /** Call `callback` with everything `frames()` would give, at once and in order. Returns a function that ends it. */
  onFrame(callback: (move: Move) => void): () => void {
    this.#onFrame.add(callback);
    return () => void this.#onFrame.delete(callback);
  }

  /** Call `callback` after anything at this table has changed: view, prompts, presence, or its end. Returns a function that ends it. */
  onChange(callback: () => void): () => void {
    this.#onChange.add(callback);
    return () => void this.#onChange.delete(callback);
  }

  /** Wait until `changes` differs from `seen`, and give its value. Throws the error that ended the table. */
  async changed(seen: number, signal?: AbortSignal): Promise<number> {
    while (this.#changes === seen) {
      if (this.#lost) throw this.#lost;
      signal?.throwIfAborted();
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal?.removeEventListener("abort", wake);
          this.#waiters = this.#waiters.filter((each) => each !== wake);
          resolve();
        };
        this.#waiters.push(wake);
        signal?.addEventListener("abort", wake);
      });
    }
    return this.#changes;
  }

  /**
   * Wait until `predicate(view)` is truthy and give what it returned; it is tried now and after every change.
   * Throws TimedOut, the signal's reason, or the error that ended the table.
   */
  async waitFor<T>(predicate: (view: View) => T, { timeout, signal }: WaitOptions = {}): Promise<NonNullable<T>> {
    const stop = new AbortController();
    const abort = (): void => stop.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", abort);
    const late = new TimedOut(`not so within ${timeout} ms`);
    const timer = timeout === undefined ? undefined : setTimeout(() => stop.abort(late), timeout);
    try {
      for (;;) {
        const seen = this.#changes;
        const result = predicate(this.view);
        if (result) return result;
        await this.changed(seen, stop.signal);
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  async #ask(kind: string, fields: Fields, ordered = false, signal?: AbortSignal): Promise<Message> {
    if (this.#lost) throw this.#lost;
    return this.client._ask(kind, this.session, fields, ordered, signal);
  }

  /** Only after a lost frame or a reconnect: the view is on its way. The action is done in any case, so nothing is thrown. */
  async #catchUp(v: number): Promise<void> {
    try {
      await this.waitFor(() => this.v >= v, { timeout: this.client.patience });
    } catch (error) {
      if (!(error instanceof DustupError)) throw error;
    }
  }

  // ---- called by the client

  /** @internal */
  _moved(message: Message): void {
    const move = message as unknown as Move;
    for (const feed of [...this.#feeds]) feed.put(move);
    for (const callback of [...this.#onFrame]) guarded(() => callback(move));
    this._pulse();
  }

  /** @internal */
  _pulse(): void {
    this.#changes += 1;
    this.#feedPrompts();
    this.#wake();
  }

  /** @internal */
  _end(error: DustupError): void {
    this.#lost ??= error;
    for (const feed of [...this.#feeds, ...this.#promptFeeds.keys()]) feed.end(error);
    this.#wake();
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
    for (const callback of [...this.#onChange]) guarded(callback);
  }

  #feedPrompts(): void {
    if (!this.#promptFeeds.size) return;
    const prompts = this.promptsOpen;
    const open = new Set(prompts.map(({ id }) => id));
    for (const [feed, told] of [...this.#promptFeeds]) {
      for (const id of told) if (!open.has(id)) told.delete(id);
      for (const prompt of prompts) {
        if (told.has(prompt.id)) continue;
        told.add(prompt.id);
        feed.put(prompt);
      }
    }
  }

  #ack(answer: Message): Ack {
    const { id, v, durability, again } = answer;
    return {
      id: id as string,
      session: this.session,
      v: (v ?? null) as number | null,
      durability: (durability ?? null) as string | null,
      again: again === true,
    };
  }
}

/** A callback of the user's that throws must not stop what comes after it. */
export function guarded(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    console.error("dustup: a callback failed", error);
  }
}
