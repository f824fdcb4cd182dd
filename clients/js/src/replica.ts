/**
 * One table as this client knows it: the view kept by frames, where it stands in the log, and how it was joined.
 */
import type { Message } from "./codec.js";
import { BadMessage } from "./errors.js";
import type { Question } from "./messages.js";
import * as read from "./read.js";

/** One thing at the table: `{field: value}`. Its fields are the ruleset's; a frame replaces it whole. */
export interface Entity {
  // What a field holds is the ruleset's affair, and `unknown` would make every use of it a cast.
  readonly [field: string]: any;
}
export interface Entities {
  readonly [id: string]: Entity;
}
/** `{kind: {id: {field: value}}}`. Never changed in place: what a frame did not touch stays the same object. */
export interface View {
  readonly [kind: string]: Entities;
}

export type Outcome = "applied" | "old" | "gap";
export type State = "out" | "joining" | "joined";

export const RECENT = 200;

/** Ids are the host's: without a prototype, one called `constructor` is found only when it is there. */
const bare = <T>(from?: { readonly [name: string]: T }): { [name: string]: T } =>
  Object.assign(Object.create(null) as { [name: string]: T }, from);

/**
 * State of one joined table. `v`, `stamp`, `epoch`: the last entry applied and the lineage of the log; v is 0 before the first
 * join. `recent`: the last frames seen, oldest first, at most 200. `asked`: prompts told to this seat, by id.
 */
export class Replica {
  seat = "";
  role = "";
  epoch = "";
  v = 0;
  stamp = "";
  ruleset = "";
  variant = "";
  view: View = bare<Entities>();
  recent: Message[] = [];
  presence: { readonly [seat: string]: number } = {};
  state: State = "out";
  /** True while only a whole view will do. */
  fresh = true;
  readonly asked = new Map<string, Message | Question>();
  #parts: Message[] = [];

  constructor(
    readonly session: string,
    readonly token: string | null,
    readonly history: number,
  ) {}

  /** The `join` to send now: with a resume point when the view can be continued, for a whole view otherwise. */
  joinMessage(id: string): Message {
    return {
      t: "join",
      session: this.session,
      id,
      token: this.token ?? undefined,
      resume: this.fresh ? undefined : { epoch: this.epoch, v: this.v, stamp: this.stamp },
      history: this.history || undefined,
    };
  }

  /** The connection is gone: forget half-received messages, keep the rest to resume from. */
  out(): void {
    this.state = "out";
    this.#parts = [];
  }

  /**
   * The whole message that `message` completes, or null while parts are missing. Throws BadMessage for parts out of order.
   * Parts of one message follow one another; the first carries all but the rest of the view.
   */
  gather(message: Message): Message | null {
    const parts = read.optional(read.int, message, "parts");
    if (parts === undefined) {
      if (this.#parts.length) throw new BadMessage("a part is missing");
      return message;
    }
    const head = this.#parts[0] ?? message;
    const same = (["t", "v", "stamp", "parts"] as const).every((field) => message[field] === head[field]);
    if (!same || read.int(message, "part") !== this.#parts.length + 1) throw new BadMessage("a part is out of order");
    this.#parts.push(message);
    if (this.#parts.length < parts) return null;
    const field = read.optional(read.map, head, "views") !== undefined ? "views" : "view";
    const whole = bare<{ [id: string]: Entity }>();
    for (const each of this.#parts) {
      for (const [kind, entities] of Object.entries(read.optional(read.view, each, field) ?? {})) {
        whole[kind] = Object.assign(whole[kind] ?? bare<Entity>(), entities);
      }
    }
    this.#parts = [];
    return { ...head, [field]: whole, part: undefined, parts: undefined };
  }

  /** Take a whole `joined` message. */
  joined(message: Message): void {
    for (const field of ["seat", "role", "ruleset", "variant"] as const) {
      this[field] = read.optional(read.text, message, field) ?? this[field];
    }
    if (message["resumed"] !== true) {
      const history = read.optional(read.maps, message, "history") ?? [];
      this.#replace(read.optional(read.view, message, "view") ?? {}, message);
      if (history.length) this.recent = history.map((frame) => ({ ...frame, t: "frame" })).slice(-RECENT);
    }
    this.state = "joined";
    this.fresh = false;
  }

  /** Take a whole `reset` message. */
  reset(message: Message): void {
    this.#replace(read.view(message, "view"), message);
  }

  /** Apply one whole frame. `gap` means a frame is missing (or the log forked) and the whole view must be fetched anew. */
  frame(message: Message): Outcome {
    const v = read.int(message, "v");
    const stamp = read.text(message, "stamp");
    if (v === this.v && stamp !== this.stamp) return "gap";
    if (v <= this.v) return "old";
    if (v !== this.v + 1) return "gap";
    // Everything is read before anything is changed: a broken frame must not be applied in part.
    const whole = read.optional(read.view, message, "view");
    const views = read.optional(read.view, message, "views") ?? {};
    const gone = read.optional(read.ids, message, "gone") ?? {};
    read.optional(read.maps, message, "events");
    if (whole !== undefined) this.view = copyOf(whole);
    if (Object.keys(views).length || Object.keys(gone).length) this.#apply(views, gone);
    this.v = v;
    this.stamp = stamp;
    this.recent = [...this.recent.slice(1 - RECENT), message];
    this.#forgetClosedPrompts();
    return "applied";
  }

  /** Prompts that this seat may answer now, in the view's order, each with its `id`. */
  openPrompts(): Question[] {
    const found: Question[] = [];
    for (const [id, prompt] of Object.entries(this.view["prompts"] ?? {})) {
      if (prompt["answered"]) continue;
      const told = this.asked.get(id);
      const whole: { [field: string]: unknown } = { ...prompt, ...told, id };
      const to = whole["to"] ?? this.seat;
      if (to === this.seat && (told !== undefined || Array.isArray(whole["choices"]))) found.push(whole as unknown as Question);
    }
    return found;
  }

  #apply(views: View, gone: { readonly [kind: string]: readonly string[] }): void {
    const next = bare<Entities>(this.view);
    for (const [kind, entities] of Object.entries(views)) {
      next[kind] = Object.assign(bare<Entity>(next[kind]), entities);
    }
    for (const [kind, ids] of Object.entries(gone)) {
      const left = bare<Entity>(next[kind]);
      for (const id of ids) delete left[id];
      if (Object.keys(left).length) next[kind] = left;
      else delete next[kind]; // a view names no kind that it shows nothing of
    }
    this.view = next;
  }

  #replace(view: View, message: Message): void {
    const epoch = read.optional(read.text, message, "epoch") ?? this.epoch;
    const v = read.int(message, "v");
    this.stamp = read.optional(read.text, message, "stamp") ?? "";
    this.epoch = epoch;
    this.v = v;
    this.view = copyOf(view);
    this.#forgetClosedPrompts();
  }

  #forgetClosedPrompts(): void {
    const known = this.view["prompts"];
    for (const id of this.asked.keys()) {
      if (known?.[id] === undefined) this.asked.delete(id);
    }
  }
}

function copyOf(view: View): View {
  const copy = bare<Entities>();
  for (const [kind, entities] of Object.entries(view)) copy[kind] = bare(entities);
  return copy;
}
