/**
 * The connection: moves bytes between a WebSocket and the core, keeps it open, and wakes whoever waits.
 */
import type { Message } from "./codec.js";
import { Core } from "./core.js";
import { Closed, DustupError, Unavailable } from "./errors.js";
import type { CoreEvent } from "./events.js";
import { socketUrl } from "./links.js";
import type { SeatRef, Welcome } from "./messages.js";
import { cut, type SocketLike, type SocketMaker } from "./socket.js";
import { Table, guarded } from "./table.js";

export const SUBPROTOCOL = "dustup.v1.msgpack";
const OPEN_WITHIN = 10_000;
const CLOSE_WITHIN = 2_000;
/** A longer timer would fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

export interface ConnectOptions {
  /** Milliseconds after which a request without an answer fails with Unavailable. */
  patience?: number;
  /** Milliseconds for the first connection. */
  wait?: number;
  /** Bounds of the varied, doubling wait between connections, in milliseconds. */
  firstDelay?: number;
  longestDelay?: number;
  /** From 0 to 1; varies the waits. */
  random?: () => number;
  /** The WebSocket to use where there is none built in (Node 20: that of the `ws` package). */
  WebSocket?: SocketMaker;
}

/** `open`: talking to the server. `waiting`: until the next try at `at` (as Date.now()). `trouble` says what happened last. */
export interface ConnectionState {
  readonly is: "connecting" | "open" | "waiting" | "closed";
  readonly at: number | null;
  readonly trouble: string;
}

interface Waiting<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** One person's connection to a server, for as many tables as wanted. Use `connect`. */
export class Client {
  readonly url: string;
  readonly #core: Core;
  readonly #wait: number;
  readonly #WebSocket: SocketMaker;
  readonly #tables = new Map<string, Table>();
  readonly #answers = new Map<string, Waiting<Message>>();
  readonly #joins = new Map<string, Waiting<Table> & { promise: Promise<Table> }>();
  readonly #onState = new Set<(state: ConnectionState) => void>();
  #opening: Waiting<void> | null = null;
  #socket: SocketLike | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #late: ReturnType<typeof setTimeout> | undefined;
  #state: ConnectionState = { is: "connecting", at: null, trouble: "no connection was tried yet" };
  #offset = 0;
  #error: Closed | null = null;

  constructor(url: string, token: string, options: ConnectOptions = {}) {
    this.url = socketUrl(url);
    const maker = options.WebSocket ?? (globalThis as { WebSocket?: SocketMaker }).WebSocket;
    if (!maker) throw new DustupError("there is no WebSocket here: install `ws` and pass its WebSocket as the option of that name");
    this.#WebSocket = maker;
    this.#wait = options.wait ?? 5_000;
    this.#core = new Core(token, {
      client: freshName(),
      random: options.random ?? Math.random,
      patience: options.patience ?? 60_000,
      firstWait: options.firstDelay ?? 250,
      longestWait: options.longestDelay ?? 15_000,
    });
  }

  // ---- life

  /** Connect and wait for the server's welcome. Throws Unavailable after `wait`, Unauthorized, UnsupportedVersion. */
  async open(): Promise<this> {
    const welcomed = new Promise<void>((resolve, reject) => (this.#opening = { resolve, reject }));
    const timer = setTimeout(() => {
      const why = `cannot reach ${this.url}: ${this.#state.trouble}. Is the server running, and is the address right?`;
      this.#opening?.reject(new Unavailable(why));
    }, this.#wait);
    this.#connect();
    try {
      await welcomed;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#opening = null;
    }
    return this;
  }

  /** Say good-bye and end everything this client started. Open requests fail with Closed. Safe to call twice. */
  async close(): Promise<void> {
    const socket = this.#socket;
    if (!this.#error) this.#handle(this.#core.fail(new Closed("the client was closed")));
    if (!socket || socket.readyState === 3) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => (cut(socket, 1000), resolve()), CLOSE_WITHIN);
      socket.onclose = () => (clearTimeout(timer), resolve());
    });
  }

  /**
   * The network may be back (a page is shown again, `online` was fired): connect now if waiting, unless the server asked for the
   * wait, and make sure that a connection that looks open still is.
   */
  nudge(): void {
    if (this.#state.is === "waiting" && !this.#core.waitWasTold) this.#connect();
    this.#core.probe(now());
    this.#pump();
  }

  // ---- what is

  /** The server's last `welcome`. */
  get welcome(): Welcome | null {
    return this.#core.welcome as Welcome | null;
  }
  /** Tables at which this person has a seat, as the server told at the welcome. */
  get sessions(): readonly SeatRef[] {
    return this.welcome?.sessions ?? [];
  }
  /** False while a lost connection is being replaced. */
  get connected(): boolean {
    return this.#core.ready;
  }
  get state(): ConnectionState {
    return this.#state;
  }
  /** Milliseconds after which a request without an answer fails with Unavailable. */
  get patience(): number {
    return this.#core.patience;
  }
  /** The first half of this client's action ids. */
  get id(): string {
    return this.#core.client;
  }
  /** The server's clock as well as this client knows it: milliseconds UTC. */
  now(): number {
    return Date.now() + this.#offset;
  }

  /** Call `callback` whenever the connection's state changes. Returns a function that ends it. */
  onState(callback: (state: ConnectionState) => void): () => void {
    this.#onState.add(callback);
    return () => void this.#onState.delete(callback);
  }

  // ---- what may be done

  /**
   * Sit down at a table; `token` is its seat token when the client's own does not open it, `history` 0..200 past frames.
   * Throws Refused (`no_session`, `forbidden`, `expired`, ...), Unavailable, Closed. A table joined already is given again.
   */
  async join(session: string, { token, history = 0 }: { token?: string; history?: number } = {}): Promise<Table> {
    const table = this.#tables.get(session);
    if (table) return table;
    const known = this.#joins.get(session);
    if (known) return known.promise;
    this.#core.join(session, token ?? null, history, now());
    let waiting!: Waiting<Table>;
    const promise = new Promise<Table>((resolve, reject) => (waiting = { resolve, reject }));
    this.#joins.set(session, { ...waiting, promise });
    this.#pump();
    return promise;
  }

  /** Milliseconds for a message to the server and back. Also sets `now()` right. */
  async ping(): Promise<number> {
    const asked = now();
    await this._ask("ping", null, {});
    return now() - asked;
  }

  /** @internal */
  async _ask(
    kind: string,
    session: string | null,
    fields: { [field: string]: unknown },
    ordered = false,
    signal?: AbortSignal,
  ): Promise<Message> {
    signal?.throwIfAborted();
    const id = this.#core.ask(kind, session, fields, now(), ordered);
    const answer = this.#answerTo(id);
    if (!signal) return answer;
    const abort = (): void => {
      this.#core.abandon(id);
      this.#answers.get(id)?.reject(signal.reason);
      this.#answers.delete(id);
    };
    signal.addEventListener("abort", abort);
    try {
      return await answer;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** @internal */
  async _leave(session: string): Promise<void> {
    const table = this.#tables.get(session);
    if (!table) return;
    this.#tables.delete(session);
    const id = this.#core.leave(session, now());
    table._end(new Closed("this client left the table", "left"));
    if (id !== null) await this.#answerTo(id);
  }

  // ---- inner workings

  #answerTo(id: string): Promise<Message> {
    const answer = new Promise<Message>((resolve, reject) => this.#answers.set(id, { resolve, reject }));
    this.#pump();
    return answer;
  }

  #connect(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#tell("connecting");
    let socket: SocketLike;
    try {
      socket = new this.#WebSocket(this.url, [SUBPROTOCOL]);
    } catch (error) {
      this.#ended(null, String(error));
      return;
    }
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    this.#late = setTimeout(() => this.#give(socket, 1000, "no answer in time"), OPEN_WITHIN);
    let trouble = "";
    socket.onopen = () => {
      clearTimeout(this.#late);
      this.#core.connected(now());
      this.#pump();
    };
    socket.onmessage = ({ data }: { data: unknown }) => this.#received(data);
    socket.onerror = (event: { message?: unknown }) => {
      if (typeof event?.message === "string") trouble = event.message;
    };
    socket.onclose = ({ code }: { code: number }) => this.#ended(code, trouble || `the connection ended (code ${code})`);
  }

  #received(data: unknown): void {
    if (data instanceof ArrayBuffer) {
      this.#handle(this.#core.receive(new Uint8Array(data), now()));
      this.#pump();
    } else {
      this.#handle([{ is: "hang up", code: 4002, text: "the server sent text where bytes were agreed" }]);
    }
  }

  /** Give a connection up without waiting for its close: on a dead network that may take minutes. */
  #give(socket: SocketLike, code: number, trouble: string): void {
    if (this.#socket !== socket) return;
    cut(socket, code);
    this.#ended(null, trouble);
  }

  #ended(code: number | null, trouble: string): void {
    clearTimeout(this.#late);
    this.#socket = null;
    if (this.#error) return;
    this.#handle(this.#core.disconnected(now(), code));
    if (this.#error) return;
    const wait = this.#core.reconnectIn;
    this.#tell("waiting", trouble, Date.now() + wait);
    this.#retry = setTimeout(() => this.#connect(), Math.min(wait, LONGEST_TIMER));
    this.#pump();
  }

  /** Send what the core has queued, and keep its time. */
  #pump(): void {
    if (this.#error) return;
    this.#handle(this.#core.tick(now()));
    const socket = this.#socket;
    if (socket?.readyState === 1) {
      for (const raw of this.#core.outgoing()) socket.send(raw as Uint8Array<ArrayBuffer>);
    }
    clearTimeout(this.#timer);
    const at = this.#core.wakeAt(now());
    if (at !== Infinity) this.#timer = setTimeout(() => this.#pump(), Math.min(Math.max(at - now(), 0) + 1, LONGEST_TIMER));
  }

  #handle(events: readonly CoreEvent[]): void {
    for (const event of events) this.#handleOne(event);
  }

  #handleOne(event: CoreEvent): void {
    switch (event.is) {
      case "changed":
        if (event.first) this.#seated(event.session);
        else this.#tables.get(event.session)?._moved(event.message);
        break;
      case "told":
        this.#tables.get(event.session)?._pulse();
        break;
      case "answered":
        if (event.message.t === "pong") this.#keepTime(event.message);
        this.#answers.get(event.id)?.resolve(event.message);
        this.#answers.delete(event.id);
        break;
      case "failed":
        this.#answers.get(event.id)?.reject(event.error);
        this.#answers.delete(event.id);
        break;
      case "lost":
        this.#tables.get(event.session)?._end(event.error);
        this.#tables.delete(event.session);
        this.#joins.get(event.session)?.reject(event.error);
        this.#joins.delete(event.session);
        break;
      case "welcomed":
        this.#keepTime(event.message);
        this.#tell("open");
        this.#opening?.resolve();
        break;
      case "hang up":
        if (this.#socket) this.#give(this.#socket, event.code, event.text);
        break;
      case "fatal":
        this.#die(event.error);
        break;
    }
  }

  #seated(session: string): void {
    const table = new Table(this, this.#core.tables.get(session)!);
    this.#tables.set(session, table);
    this.#joins.get(session)?.resolve(table);
    this.#joins.delete(session);
  }

  #die(error: Closed): void {
    this.#error = error;
    for (const timer of [this.#timer, this.#retry, this.#late]) clearTimeout(timer);
    const socket = this.#socket;
    this.#socket = null;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.onerror = () => {};
      if (socket.readyState < 2) socket.close(1000);
    }
    this.#tell("closed", error.text);
    this.#opening?.reject(error);
  }

  #tell(is: ConnectionState["is"], trouble = this.#state.trouble, at: number | null = null): void {
    this.#state = { is, at, trouble: is === "open" ? "" : trouble };
    for (const callback of [...this.#onState]) guarded(() => callback(this.#state));
  }

  #keepTime(message: Message): void {
    if (typeof message["now"] === "number") this.#offset = message["now"] - Date.now();
  }
}

/**
 * Connect to a server: `const client = await connect(url, token)`, and `await client.close()` at the end.
 *
 * `url` is ws(s)://… or http(s)://…; `/v1/ws` is added. `token` is a seat or person token. Throws BadLink for an address that is
 * none, Unavailable, Unauthorized, UnsupportedVersion.
 */
export async function connect(url: string, token: string, options: ConnectOptions = {}): Promise<Client> {
  return new Client(url, token, options).open();
}

/** Any monotonic milliseconds. */
function now(): number {
  return performance.now();
}

/** A client does not remember its last action number, so each takes a name that nobody had before. */
function freshName(): string {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
