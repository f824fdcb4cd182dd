// Generated from protocol/schema.json by `npm run types`. Not to be edited.

/** Anything a message may hold: no floats, no bytes; ints within ±(2^53−1). */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

/** A command was done (or `again`: had been done before) as entry `v`. */
export interface Ack {
  t: "ack";
  /** Chosen by the client, repeated in the answer */
  id: string;
  session?: string | null;
  /** A version of the session, counted from 1 */
  v?: number | null;
  durability?: string | null;
  again?: boolean;
  [more: string]: unknown;
}

/** How likely one amount of damage is. */
export interface Amount {
  value: number;
  /** An exact chance a/b, from 0/1 to 1/1 */
  p: string;
  [more: string]: unknown;
}

/** The server is about to close this connection. */
export interface Bye {
  t: "bye";
  code: string;
  text: string;
  /** Milliseconds, UTC since 1970 where it is a point in time */
  retry_after?: number | null;
  [more: string]: unknown;
}

/** How likely one outcome is. */
export interface Chance {
  name: string;
  text: string;
  /** An exact chance a/b, from 0/1 to 1/1 */
  p: string;
  [more: string]: unknown;
}

/** What a command may lead to. */
export interface Chances {
  type: string;
  text: string;
  parts?: Chance[];
  damage?: Amount[];
  [more: string]: unknown;
}

/** A value that may be chosen, and how to show it. */
export interface Choice {
  value: string | number | boolean | null;
  text: string;
  [more: string]: unknown;
}

/** What program is speaking; shown to hosts, never used to decide anything. */
export interface ClientInfo {
  name: string;
  version?: string;
}

export type ClientMessage = Hello | Join | Leave | Do | Options | Odds | History | Salt | Ping;

export interface Command {
  type: string;
  [more: string]: unknown;
}

/** What an option takes from a pool. */
export interface Cost {
  pool: string;
  amount: number;
  [more: string]: unknown;
}

/** Ask for a command: a map with a string `type`. `at` is the version the person was looking at. */
export interface Do {
  t: "do";
  /** An action id <client>.<n>: a name the client keeps, a dot, and a number from 1 that only rises */
  id: string;
  /** An id: 1 to 64 characters of A-Z a-z 0-9 _ . : - */
  session: string;
  command: Command;
  at?: number | null;
}

/** A request was refused, and nothing changed by it (but see `unavailable`). */
export interface Error {
  t: "error";
  code: string;
  text: string;
  /** Chosen by the client, repeated in the answer */
  id?: string | null;
  session?: string | null;
  /** A version of the session, counted from 1 */
  v?: number | null;
  data?: { [name: string]: Value } | null;
  /** Milliseconds, UTC since 1970 where it is a point in time */
  retry_after?: number | null;
  [more: string]: unknown;
}

/** Something that happened: a stable message id, an English sentence, and data beside them. */
export interface Event {
  type: string;
  text: string;
  body?: string | null;
  erased?: boolean;
  [more: string]: unknown;
}

/** One committed entry as this seat may know it; empty but for its version when it may know nothing of it. */
export interface Frame {
  t: "frame";
  session: string;
  /** A version of the session, counted from 1 */
  v: number;
  /** 16 lower-case hex digits */
  stamp: string;
  /** Milliseconds, UTC since 1970 where it is a point in time */
  at?: number | null;
  by?: string | null;
  /** What happened, in order */
  events?: Event[];
  /** Entities by kind and id */
  views?: ViewBody;
  gone?: { [name: string]: string[] } | null;
  /** Entities by kind and id */
  view?: ViewBody;
  /** Which part of the view this is, from 1; absent when there is only one */
  part?: number | null;
  /** How many parts there are; absent when there is only one */
  parts?: number | null;
  [more: string]: unknown;
}

/** The first message: who is there, and which protocol versions it speaks. */
export interface Hello {
  t: "hello";
  token: string;
  /** A protocol version */
  min: number;
  /** A protocol version */
  max: number;
  client?: ClientInfo | null;
}

/** Ask for up to `limit` entries before version `before` (the newest ones when it is absent). */
export interface History {
  t: "history";
  /** Chosen by the client, repeated in the answer */
  id: string;
  /** An id: 1 to 64 characters of A-Z a-z 0-9 _ . : - */
  session: string;
  /** A version of the session, counted from 1 */
  before?: number | null;
  limit?: number;
}

/** A page of past entries; `more` when older ones exist. */
export interface HistoryReply {
  t: "history";
  /** Chosen by the client, repeated in the answer */
  id: string;
  session: string;
  /** Past entries, oldest first */
  frames: PastEntry[];
  more: boolean;
  [more: string]: unknown;
}

/** Numbers that go with an answer: `least` to `most` of them, each from `low` to `high`; `choice` names the one that needs them. */
export interface Ints {
  least: number;
  most: number;
  low: number;
  high: number;
  choice?: string;
  [more: string]: unknown;
}

/** Sit down at a session. `token` when it is another than hello's; `history` asks for that many latest entries. */
export interface Join {
  t: "join";
  /** An id: 1 to 64 characters of A-Z a-z 0-9 _ . : - */
  session: string;
  token?: string | null;
  resume?: Resume | null;
  history?: number;
  /** Chosen by the client, repeated in the answer */
  id?: string | null;
}

/** The answer to join. When `resumed`, the missed frames follow and there is no view. */
export interface Joined {
  t: "joined";
  session: string;
  seat: string;
  role: string;
  /** 16 lower-case hex digits */
  epoch: string;
  /** A version of the session, counted from 1 */
  v: number;
  /** 16 lower-case hex digits */
  stamp: string;
  ruleset: string;
  variant: string;
  resumed: boolean;
  /** Entities by kind and id */
  view?: ViewBody;
  /** Past entries, oldest first */
  history?: PastEntry[];
  /** Which part of the view this is, from 1; absent when there is only one */
  part?: number | null;
  /** How many parts there are; absent when there is only one */
  parts?: number | null;
  /** Chosen by the client, repeated in the answer */
  id?: string | null;
  [more: string]: unknown;
}

/** Get no more of a session on this connection. Answered only when it has an id. */
export interface Leave {
  t: "leave";
  /** An id: 1 to 64 characters of A-Z a-z 0-9 _ . : - */
  session: string;
  /** Chosen by the client, repeated in the answer */
  id?: string | null;
}

/** What the server allows: bytes per frame in and out, commands per second and seat, history page, sessions per connection. */
export interface Limits {
  frame_in: number;
  frame_out: number;
  rate: number;
  history: number;
  sessions: number;
  [more: string]: unknown;
}

/** Ask how likely the outcomes of a command are. */
export interface Odds {
  t: "odds";
  /** Chosen by the client, repeated in the answer */
  id: string;
  /** An id: 1 to 64 characters of A-Z a-z 0-9 _ . : - */
  session: string;
  command: Command;
}

/** Exact chances of a command at version `v`. */
export interface OddsReply {
  t: "odds";
  /** Chosen by the client, repeated in the answer */
  id: string;
  session: string;
  /** A version of the session, counted from 1 */
  v: number;
  /** Exact chances */
  odds: Chances;
  [more: string]: unknown;
}

/** Something legal. `command` is complete but for the params; `odds` when the server can tell its chances. */
export interface Option {
  type: string;
  text: string;
  command: { [name: string]: Value };
  combatant?: string | null;
  params?: Param[];
  cost?: Cost[];
  odds?: boolean;
  group?: string;
  [more: string]: unknown;
}

/** Ask what is legal for this seat now. */
export interface Options {
  t: "options";
  /** Chosen by the client, repeated in the answer */
  id: string;
  /** An id: 1 to 64 characters of A-Z a-z 0-9 _ . : - */
  session: string;
}

/** What is legal for the seat at version `v`. */
export interface OptionsReply {
  t: "options";
  /** Chosen by the client, repeated in the answer */
  id: string;
  session: string;
  /** A version of the session, counted from 1 */
  v: number;
  /** What is legal now */
  options: Option[];
  [more: string]: unknown;
}

/** Something the player still has to fill in: the client sets `command[name]`. */
export interface Param {
  name: string;
  text: string;
  kind?: "choice" | "int" | "text";
  choices?: Choice[];
  min?: number | null;
  max?: number | null;
  default?: string | number | boolean | null;
  optional?: boolean;
  [more: string]: unknown;
}

/** An entry of the past, in history. */
export interface PastEntry {
  /** A version of the session, counted from 1 */
  v: number;
  /** 16 lower-case hex digits */
  stamp: string;
  /** Milliseconds, UTC since 1970 where it is a point in time */
  at?: number | null;
  by?: string | null;
  events?: Event[];
  [more: string]: unknown;
}

/** Ask for a pong. */
export interface Ping {
  t: "ping";
  /** Chosen by the client, repeated in the answer */
  id?: string | null;
}

/** The answer to ping, with the server's clock. */
export interface Pong {
  t: "pong";
  /** Milliseconds, UTC since 1970 where it is a point in time */
  now: number;
  /** Chosen by the client, repeated in the answer */
  id?: string | null;
  [more: string]: unknown;
}

/** How many connections each seat has; seats with none are left out. */
export interface Presence {
  t: "presence";
  session: string;
  seats: { [name: string]: number };
  [more: string]: unknown;
}

/** A question to this seat, sent after the frame that opened it. */
export interface Prompt {
  t: "prompt";
  session: string;
  /** A version of the session, counted from 1 */
  v: number;
  /** The question and its legal answers */
  prompt: Question;
  [more: string]: unknown;
}

/** A prompt. `default` is taken at `deadline` (ms UTC), if it has one, when nobody has answered. */
export interface Question {
  id: string;
  kind: string;
  type: string;
  text: string;
  choices?: Choice[];
  default?: string;
  /** Milliseconds, UTC since 1970 where it is a point in time */
  deadline?: number | null;
  ints?: Ints | null;
  combatant?: string | null;
  group?: string | null;
  data?: { [name: string]: Value } | null;
  [more: string]: unknown;
}

/** The lineage of the log changed: forget this session's state and take this view. */
export interface Reset {
  t: "reset";
  session: string;
  /** 16 lower-case hex digits */
  epoch: string;
  /** A version of the session, counted from 1 */
  v: number;
  /** 16 lower-case hex digits */
  stamp: string;
  reason: string;
  /** Entities by kind and id */
  view: ViewBody;
  /** Which part of the view this is, from 1; absent when there is only one */
  part?: number | null;
  /** How many parts there are; absent when there is only one */
  parts?: number | null;
  [more: string]: unknown;
}

/** The last entry a client has applied. */
export interface Resume {
  /** 16 lower-case hex digits */
  epoch: string;
  /** A version of the session, counted from 1 */
  v: number;
  /** 16 lower-case hex digits */
  stamp: string;
}

/** Add to the randomness of the open dice epoch. */
export interface Salt {
  t: "salt";
  /** An action id <client>.<n>: a name the client keeps, a dot, and a number from 1 that only rises */
  id: string;
  /** An id: 1 to 64 characters of A-Z a-z 0-9 _ . : - */
  session: string;
  salt: string;
}

/** A seat the person holds. */
export interface SeatRef {
  session: string;
  seat: string;
  role: string;
  [more: string]: unknown;
}

/** What program answers. */
export interface ServerInfo {
  name: string;
  version: string;
  [more: string]: unknown;
}

export type ServerMessage = Welcome | Joined | Frame | Prompt | Ack | Error | OptionsReply | OddsReply | HistoryReply | Presence | Reset | Pong | Bye;

/** A view: `{kind: {id: {fields}}}`. `table` has one entity, with the id `table`. */
export interface ViewBody {
  table?: { [name: string]: { [name: string]: Value } };
  seats?: { [name: string]: { [name: string]: Value } };
  combatants?: { [name: string]: { [name: string]: Value } };
  scenes?: { [name: string]: { [name: string]: Value } };
  encounters?: { [name: string]: { [name: string]: Value } };
  pools?: { [name: string]: { [name: string]: Value } };
  tests?: { [name: string]: { [name: string]: Value } };
  prompts?: { [name: string]: { [name: string]: Value } };
  [more: string]: unknown;
}

/** The answer to hello: the chosen protocol version, and the seats the token opens. */
export interface Welcome {
  t: "welcome";
  /** A protocol version */
  version: number;
  server: ServerInfo;
  person: string;
  /** Milliseconds, UTC since 1970 where it is a point in time */
  now: number;
  limits: Limits;
  sessions: SeatRef[];
  [more: string]: unknown;
}
