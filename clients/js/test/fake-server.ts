/**
 * A small server that speaks the protocol by SPEC.md and misbehaves on request. It shares no code with the client.
 *
 * It keeps one table: a handful of commands, a log of frames, actions by id. Faults are queued in `faults`, each used up by one `do`.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { decode, encode } from "@msgpack/msgpack";
import { WebSocketServer, type WebSocket } from "ws";
import type { Fields } from "./helpers.js";

export const SESSION = "k3v9mq2w7rt5xyab";
export const TOKEN = "token-of-ann";
export const NOW = 1_700_000_000_000;

type Message = Fields & { t: string };
type View = { [kind: string]: { [id: string]: Fields } };

/** Two fighters in a yard, Ann's turn. */
export function startView(): View {
  return {
    table: { table: { id: "table", name: "The Yard" } },
    seats: {
      ann: { id: "ann", name: "Ann", role: "player", controls: ["c1"] },
      bob: { id: "bob", name: "Bob", role: "player", controls: ["c2"] },
    },
    combatants: {
      c1: { id: "c1", name: "Ash", zone: "gate", hp: 5 },
      c2: { id: "c2", name: "Boar", zone: "gate", hp: 2 },
    },
    encounters: { e1: { id: "e1", round: 1, current: "c1" } },
  };
}

export class FakeServer {
  url = "";
  view = startView();
  epoch = "00000000000000e1";
  v = 1;
  stamps = new Map([[1, stamp(1)]]);
  log = new Map<number, Message>();
  /** Action ids done, in order. */
  executed: string[] = [];
  received: Message[] = [];
  faults: string[] = [];
  joinFaults: string[] = [];
  parts = 1;
  forgetResume = false;
  mute = false;
  welcomeError: { code: string; text: string; close: number } | null = null;
  release = withResolver();
  connections = 0;
  options = (): Fields[] => this.#options();
  readonly #acks = new Map<string, Message>();
  readonly #sockets = new Set<WebSocket>();
  readonly #joined = new Set<WebSocket>();
  #news = withResolver();
  #http!: Server;

  async start(): Promise<this> {
    this.#http = createServer((_, answer) => answer.writeHead(404).end());
    const sockets = new WebSocketServer({ server: this.#http, path: "/v1/ws" });
    sockets.on("connection", (socket) => this.#serve(socket));
    this.#http.listen(0, "127.0.0.1");
    await once(this.#http, "listening");
    this.url = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    this.release.resolve();
    this.dropAll();
    this.#http.close();
    await once(this.#http, "close");
  }

  // ---- what tests look at and do

  sent(kind: string): Message[] {
    return this.received.filter(({ t }) => t === kind);
  }

  /** Until clients have sent this many messages of a kind. */
  async waitSent(kind: string, count = 1): Promise<void> {
    while (this.sent(kind).length < count) await this.#news.promise;
  }

  sendGarbage(): void {
    for (const socket of this.#joined) socket.send(Uint8Array.of(0xc1, 1, 2));
  }

  sendText(): void {
    for (const socket of this.#joined) socket.send('{"t": "pong", "now": 0}');
  }

  /** One entry by somebody else. `skip` loses its frame on the way to the clients. */
  commit(views: View, text: string, more: Fields = {}, skip = false): void {
    const frame = this.#commit(views, text, more);
    if (!skip) for (const socket of this.#joined) this.send(socket, frame);
  }

  say(message: Message): void {
    for (const socket of this.#joined) this.send(socket, message);
  }

  /** A new lineage of the log, at version 1 of it. */
  reset(reason: string, view: View = startView()): void {
    this.view = view;
    this.epoch = "00000000000000e2";
    this.v = 1;
    this.log.clear();
    this.stamps = new Map([[1, "000000000000beef"]]);
    for (const message of this.#inParts({ t: "reset", ...this.#where(), reason })) this.say(message);
  }

  /** Everybody is sent away for a while. */
  goAway(retryAfter: number): void {
    for (const socket of this.#joined) {
      this.send(socket, { t: "bye", code: "shutting_down", text: "Going down.", retry_after: retryAfter });
      socket.close(4001);
    }
  }

  /** Every connection is cut without a word. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  send(socket: WebSocket, message: Message): void {
    if (!this.mute && socket.readyState === socket.OPEN) socket.send(encode(message, { ignoreUndefined: true }));
  }

  // ---- the table

  #where(): Fields {
    return { session: SESSION, epoch: this.epoch, v: this.v, stamp: this.stamps.get(this.v) };
  }

  #commit(views: View, text: string, more: Fields = {}): Message {
    this.v += 1;
    this.stamps.set(this.v, stamp(this.v));
    for (const [kind, entities] of Object.entries(views)) this.view[kind] = { ...this.view[kind], ...structuredClone(entities) };
    for (const [kind, ids] of Object.entries((more["gone"] ?? {}) as { [kind: string]: string[] })) {
      for (const id of ids) delete this.view[kind]![id];
      if (!Object.keys(this.view[kind]!).length) delete this.view[kind];
    }
    const at = { session: SESSION, v: this.v, stamp: stamp(this.v), at: NOW, by: "bob" };
    const frame = { t: "frame", ...at, events: [{ type: "note", text }], views: structuredClone(views), ...more };
    this.log.set(this.v, frame);
    return frame;
  }

  /** The frame of a command, or a refusal. */
  #execute(command: Fields): Message | [code: string, text: string] {
    switch (command["type"]) {
      case "hit": {
        const target = this.view["combatants"]?.[String(command["target"])];
        if (!target) return ["no_target", "There is nobody like that."];
        const hurt = { ...target, hp: (target["hp"] as number) - 1 };
        const views = { combatants: { [String(command["target"])]: hurt } };
        const fallen = hurt.hp === 0;
        return this.#commit(views, fallen ? "Falls." : "Is hit.", { by: "ann", ...(fallen ? { gone: { encounters: ["e1"] } } : {}) });
      }
      case "chat":
      case "post":
        return this.#commit({}, "", { by: "ann", events: [{ type: command["type"], text: "", body: command["text"] }] });
      case "answer":
        return this.#commit({}, "Answered.", { by: "ann", gone: { prompts: [command["prompt"]] } });
      case "turn.end":
        return this.#commit({}, "Ann lets the turn pass.", { by: "ann" });
      default:
        return ["unknown_command", "This ruleset has no such command."];
    }
  }

  /** Hitting with odds, and ending the turn; nothing once the fight is over. */
  #options(): Fields[] {
    if (!this.view["encounters"]) return [];
    const choices = [{ value: "c2", text: "Boar" }];
    return [
      {
        type: "fake.hit",
        text: "Hit somebody",
        combatant: "c1",
        command: { type: "hit" },
        params: [{ name: "target", kind: "choice", text: "Whom", choices }],
        cost: [{ pool: "breath", amount: 1 }],
        odds: true,
      },
      { type: "fake.end", text: "End the turn", combatant: "c1", command: { type: "turn.end" } },
    ];
  }

  // ---- the wire

  #serve(socket: WebSocket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    socket.on("message", (raw: Buffer) => {
      const message = decode(raw) as Message;
      this.received.push(message);
      this.#news.resolve();
      this.#news = withResolver();
      void this.#answer(socket, message);
    });
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#joined.delete(socket);
    });
  }

  async #answer(socket: WebSocket, message: Message): Promise<void> {
    const about = { id: message["id"], session: SESSION, v: this.v };
    switch (message.t) {
      case "hello":
        return this.#onHello(socket, message);
      case "join":
        return this.#onJoin(socket, message);
      case "do":
        return this.#onDo(socket, message, message["command"] as Fields);
      case "salt":
        return this.#onDo(socket, message, { type: "chat", text: `salt ${String(message["salt"])}` });
      case "leave":
        this.#joined.delete(socket);
        return this.send(socket, { t: "ack", id: message["id"], session: SESSION });
      case "ping":
        return this.send(socket, { t: "pong", id: message["id"], now: NOW });
      case "options":
        return this.send(socket, { t: "options", ...about, options: this.options() });
      case "odds":
        return this.send(socket, {
          t: "odds",
          ...about,
          odds: { type: "fake.odds", text: "A blow", parts: [{ name: "hit", text: "hits", p: "13/20" }] },
        });
      case "history": {
        const before = (message["before"] ?? this.v + 1) as number;
        const past = [...this.log.values()].filter(({ v }) => (v as number) < before);
        const frames = past.slice(-(message["limit"] as number));
        return this.send(socket, { t: "history", ...about, frames, more: frames.length < past.length });
      }
    }
  }

  #onHello(socket: WebSocket, message: Message): void {
    const refused =
      this.welcomeError ??
      (message["token"] === TOKEN ? null : { code: "unauthorized", text: "That token does not give access here.", close: 4003 });
    if (refused) {
      this.send(socket, { t: "error", code: refused.code, text: refused.text });
      socket.close(refused.close);
      return;
    }
    const limits = { frame_in: 65536, frame_out: 1048576, rate: 20, history: 200, sessions: 64 };
    const sessions = [{ session: SESSION, seat: "ann", role: "player" }];
    this.send(socket, { t: "welcome", version: 1, server: { name: "fake", version: "0" }, person: "ann", now: NOW, limits, sessions });
  }

  /** `message` with the view, some kinds to a part when parts are asked for. The first carries what else there is. */
  #inParts(message: Message): Message[] {
    if (this.parts === 1) return [{ ...message, view: this.view }];
    const kinds = Object.keys(this.view);
    return Array.from({ length: this.parts }, (_, number) => {
      const mine = kinds.filter((_, at) => at % this.parts === number);
      const view = Object.fromEntries(mine.map((kind) => [kind, this.view[kind]]));
      return { ...message, view, part: number + 1, parts: this.parts };
    });
  }

  #onJoin(socket: WebSocket, message: Message): void {
    const about = { id: message["id"], session: message["session"] };
    const fault = this.joinFaults.shift();
    if (fault) return this.send(socket, { t: "error", ...about, code: fault, text: fault, retry_after: 10 });
    if (message["session"] !== SESSION)
      return this.send(socket, { t: "error", ...about, code: "no_session", text: "There is no such table." });
    this.#joined.add(socket);
    const joined: Message = { t: "joined", ...this.#where(), seat: "ann", role: "player", ruleset: "fake", variant: "", ...about };
    const resume = message["resume"] as { epoch: string; v: number; stamp: string } | undefined;
    if (resume && !this.forgetResume && resume.epoch === this.epoch && this.stamps.get(resume.v) === resume.stamp) {
      this.send(socket, { ...joined, resumed: true });
      for (let v = resume.v + 1; v <= this.v; v++) this.send(socket, this.log.get(v)!);
      return;
    }
    const history = message["history"] ? [...this.log.values()].slice(-(message["history"] as number)) : undefined;
    for (const part of this.#inParts({ ...joined, resumed: false, history })) this.send(socket, part);
  }

  async #onDo(socket: WebSocket, message: Message, command: Fields): Promise<void> {
    const id = message["id"] as string;
    const fault = this.faults.shift();
    if (fault === "cut before") return socket.terminate();
    if (fault === "resync") return socket.close(4009);
    if (fault === "bye") {
      this.send(socket, { t: "bye", code: "shutting_down", text: "Going down.", retry_after: 40 });
      return socket.close(4001);
    }
    if (fault === "unavailable" || fault === "rate_limited") {
      return this.send(socket, { t: "error", id, code: fault, text: "Not now.", retry_after: 20 });
    }
    if (fault === "slow") await this.release.promise;
    const done = this.#acks.get(id);
    if (done) return this.send(socket, { ...done, again: true });
    const result = this.#execute(command);
    if (Array.isArray(result)) {
      return this.send(socket, { t: "error", id, session: SESSION, v: this.v, code: result[0], text: result[1] });
    }
    const ack = { t: "ack", id, session: SESSION, v: this.v, durability: "disk" };
    this.executed.push(id);
    this.#acks.set(id, ack);
    if (fault === "cut after") return socket.terminate();
    for (const each of this.#joined) if (!(fault === "lose frame" && each === socket)) this.send(each, result);
    if (fault === "unavailable but done") {
      return this.send(socket, { t: "error", id, code: "unavailable", text: "Perhaps.", retry_after: 20 });
    }
    this.send(socket, ack);
    if (fault === "ack twice") this.send(socket, { ...ack, again: true });
  }
}

function stamp(v: number): string {
  return v.toString(16).padStart(16, "0");
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
