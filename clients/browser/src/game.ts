/**
 * One seat at one table, for the page: the SDK's table, what may be done, what was said, and what went wrong. Draws nothing.
 */
import { type Chances, Client, Closed, type ConnectionState, DustupError, type Frame, Refused, type Table, connect } from "dustup-client";
import { type Entry, Logbook } from "./model/logbook.js";
import type { Order } from "./model/orders.js";

export interface Seat {
  readonly session: string;
  readonly token: string;
}

type Command = { readonly type: string; readonly [field: string]: unknown };

const PAGE = 100;

export class Game {
  table: Table | null = null;
  link: ConnectionState = { is: "connecting", at: null, trouble: "" };
  readonly log = new Logbook();
  options: readonly Order[] = [];
  /** The version the options were computed at. */
  optionsAt = 0;
  /** Actions on their way. */
  busy = 0;
  /** What the server refused last, or a loss it told of; "" when there is nothing to say. */
  trouble = "";
  /** Events for whoever listens instead of looking; grows only. */
  heard: readonly { readonly [field: string]: unknown }[] = [];
  loadingOlder = false;
  /** Why the seat is gone for good; null while it is not. */
  over: string | null = null;
  #client: Client | null = null;
  #listeners = new Set<() => void>();
  #drawing = false;
  #asking = false;
  #stale = true;
  #ended = false;

  constructor(
    readonly url: string,
    readonly seat: Seat,
  ) {}

  // ---- life

  /** Connect, and go on trying while nobody answers. Ends when the seat is taken, lost or left. */
  async start(): Promise<void> {
    const near = `${this.url}/?near=${encodeURIComponent(this.seat.session)}`;
    for (let wait = 1000; !this.#ended; wait = Math.min(wait * 2, 15_000)) {
      try {
        this.#client = await connect(near, this.seat.token, { wait: 15_000 });
        break;
      } catch (error) {
        if (error instanceof Closed || !(error instanceof DustupError)) return this.#lost(textOf(error));
        this.link = { is: "waiting", at: Date.now() + wait, trouble: textOf(error) };
        this.changed();
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
    const client = this.#client;
    if (!client || this.#ended) return void client?.close();
    client.onState((state) => {
      this.link = state;
      if (state.is === "open") this.#stale = true;
      this.changed();
      this.#askOptions();
    });
    this.link = client.state;
    try {
      const table = await client.join(this.seat.session, { history: PAGE });
      this.table = table;
      this.log.start(table.recent);
      table.onFrame((move) => this.#moved(move));
      table.onChange(() => {
        if (table.lost) this.#lost(textOf(table.lost));
        this.changed();
      });
      addEventListener("online", this.#nudge);
      document.addEventListener("visibilitychange", this.#nudge);
      this.changed();
      this.#askOptions();
      if (!this.log.first) await this.older();
    } catch (error) {
      this.#lost(textOf(error));
    }
  }

  /** Leave the page's connection; the seat stays. */
  stop(): void {
    this.#ended = true;
    removeEventListener("online", this.#nudge);
    document.removeEventListener("visibilitychange", this.#nudge);
    void this.#client?.close();
  }

  #nudge = (): void => {
    if (document.visibilityState === "visible") this.#client?.nudge();
  };

  #lost(why: string): void {
    if (this.#ended) return;
    this.over = why;
    this.stop();
    this.changed();
  }

  // ---- what is

  /** Call back, at most once a drawn frame, after anything has changed. Returns a function that ends it. */
  onChange(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => void this.#listeners.delete(callback);
  }

  changed(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    const draw = (): void => {
      if (!this.#drawing) return;
      this.#drawing = false;
      for (const each of [...this.#listeners]) each();
    };
    // A page in the background gets no frames, but its title must still say whose turn it is.
    if (document.visibilityState === "visible") requestAnimationFrame(draw);
    else setTimeout(draw, 50);
  }

  /** The server's clock. */
  now(): number {
    return this.#client?.now() ?? Date.now();
  }

  get isGm(): boolean {
    return this.table?.role === "gm";
  }

  /** Combatants that this seat plays. */
  get mine(): readonly string[] {
    const seat = this.table?.view["seats"]?.[this.table.seat];
    return (seat?.["controls"] as string[] | undefined) ?? [];
  }

  // ---- what may be done

  /** Do a command. What is refused is told in `trouble`; gives whether it was done. */
  async do(command: Command, at?: number): Promise<boolean> {
    if (!this.table) return false;
    this.busy += 1;
    this.trouble = "";
    this.changed();
    try {
      await this.table.do(command, {}, at ? { at } : {});
      return true;
    } catch (error) {
      this.trouble = textOf(error);
      if (error instanceof Refused) this.#askAnew();
      return false;
    } finally {
      this.busy -= 1;
      this.changed();
    }
  }

  odds(command: Command): Promise<Chances> {
    return this.table!.odds(command);
  }

  /** Ask for entries before those that are here. */
  async older(): Promise<void> {
    if (!this.table || this.loadingOlder || this.log.whole) return;
    this.loadingOlder = true;
    this.changed();
    try {
      const before = this.log.first;
      const page = await this.table.history({ limit: 200, ...(before ? { before } : {}) });
      if (before) this.log.older(page);
      else this.log.start(page);
    } catch (error) {
      this.trouble = textOf(error);
    } finally {
      this.loadingOlder = false;
      this.changed();
    }
  }

  /** The whole log, oldest first; `progress` is told how many entries were read. */
  async everything(progress: (read: number) => void): Promise<Entry[]> {
    const pages: Entry[][] = [];
    let read = 0;
    for (let before: number | undefined; ;) {
      const page = await this.table!.history({ limit: 200, ...(before ? { before } : {}) });
      if (!page.length) break;
      pages.unshift([...page]);
      progress((read += page.length));
      before = page[0]!.v;
      if (!page.more || before === 1) break;
    }
    return pages.flat();
  }

  /** One call over HTTP with this seat's token. Throws Refused, or TypeError when nobody answers. */
  async call(method: string, path: string, body?: unknown): Promise<{ [field: string]: unknown }> {
    return call(`${this.url}/v1/sessions/${this.seat.session}${path}`, method, body, this.seat.token);
  }

  // ---- what happens

  #moved(move: { readonly t: string; readonly [field: string]: unknown }): void {
    if (move.t === "frame") {
      const frame = move as unknown as Frame;
      this.log.add(frame);
      if (frame.events?.length) this.heard = [...this.heard.slice(-20), ...frame.events];
      // An empty frame shows nothing to this seat, so nothing it may do has changed.
      if (frame.events || frame.views || frame.gone || frame.view) this.#askAnew();
    } else {
      if (move.t === "reset") this.trouble = String(move["reason"] ?? "");
      this.log.start([]);
      void this.older();
      this.#askAnew();
    }
    this.changed();
  }

  #askAnew(): void {
    this.#stale = true;
    this.#askOptions();
  }

  /** One question at a time: frames that come meanwhile are answered by the next one. */
  #askOptions(): void {
    const table = this.table;
    if (!table || this.#asking || !this.#stale || this.#ended || table.lost) return;
    this.#asking = true;
    this.#stale = false;
    table
      .options()
      .then((options) => {
        this.optionsAt = options.v;
        this.options = options as unknown as readonly Order[];
        this.changed();
      })
      .catch((error: unknown) => {
        // Asked anew with the next frame, or when the connection is back.
        if (error instanceof Refused && error.code === "rate_limited") setTimeout(() => this.#askAnew(), error.retryAfter ?? 1000);
      })
      .finally(() => {
        this.#asking = false;
        this.#askOptions();
      });
  }
}

export function textOf(error: unknown): string {
  return error instanceof DustupError ? error.text : error instanceof Error ? error.message : String(error);
}

/** One call over HTTP. Throws Refused with the server's code and text, or TypeError when nobody answers. */
export async function call(address: string, method: string, body?: unknown, token?: string): Promise<{ [field: string]: unknown }> {
  const answer = await fetch(address, {
    method,
    headers: {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const told = (await answer.json().catch(() => ({}))) as { [field: string]: unknown };
  if (!answer.ok) throw new Refused({ code: String(told["code"] ?? answer.status), text: String(told["text"] ?? answer.statusText) });
  return told;
}
