/**
 * A seeded pilot: plays any table to its end from options and prompts alone, knowing no rules.
 *
 * Given the same seed and the same sequence of frames it does the same things, and the same as the Python client's pilot. It
 * waits for frames, never polls.
 */
import { Refused } from "./errors.js";
import type { Command, Ints, Option, Param, Question } from "./messages.js";
import { Random } from "./random.js";
import type { View } from "./replica.js";
import type { Move, Table } from "./table.js";

/** Types of options or commands to like, or an option's weight (null: the pilot's own, 0: never). */
export type Prefer = readonly string[] | ((option: Option) => number | null | undefined);
export type Until = (view: View) => unknown;

const ENDS_TURN = /(^|[._])(end|pass|skip|done)($|[._])/;
/** Commands that talk, tidy up or wait: legal at nearly any time, and none brings a fight nearer to its end. */
const NOT_PLAY = /^(gm|seat|dice)\.|(^|\.)(chat|post|roll|propose|withdraw|delay)$/;

const END_FIRST = 0.1;
const END_GROWTH = 0.15;
/** An option with odds is a test or an attack: more likely to decide something than a step aside. */
const ODDS_WEIGHT = 6;
const PREFERRED_WEIGHT = 10;

/** Different commands refused with nothing changing in between: then it waits for a change. */
const MOST_REFUSALS = 20;

/** What a run did: commands and answers acknowledged, refusals met, and why it stopped. */
export interface Report {
  actions: number;
  answers: number;
  refused: number;
  why: "over" | "max_actions" | "";
}

export interface PilotOptions {
  /** Milliseconds of pause before each action. */
  think?: number;
  prefer?: Prefer;
}

export interface RunOptions {
  /** Play until this is truthy; left out: until the fight is over. */
  until?: Until;
  /** Or until so many commands and answers were acknowledged. */
  maxActions?: number;
  signal?: AbortSignal;
}

/** A test that is true once an encounter was running and none is any more: the usual end of a run. */
export function fightOver(): Until {
  let seen = false;
  return (view) => {
    const running = Object.keys(view["encounters"] ?? {}).length > 0;
    seen ||= running;
    return seen && !running;
  };
}

type Filled = Record<string, unknown> & { type: string };

/** Plays one seat. */
export class Pilot {
  readonly table: Table;
  readonly #random: Random;
  readonly #think: number;
  readonly #prefer: Prefer | undefined;
  readonly #refusedHere = new Set<string>();
  #turn = "";
  #thisTurn = 0;
  #present = "{}";
  #stirred = true;

  constructor(table: Table, seed: number, { think = 0, prefer }: PilotOptions = {}) {
    this.table = table;
    this.#random = new Random(seed);
    this.#think = think;
    this.#prefer = prefer;
  }

  /** Play. Throws what the table throws when it ends or stays unavailable, or the signal's reason. */
  async run({ until = fightOver(), maxActions = Infinity, signal }: RunOptions = {}): Promise<Report> {
    const report: Report = { actions: 0, answers: 0, refused: 0, why: "" };
    const stop = this.table.onFrame((move) => this.#stir(move));
    this.#stirred = true;
    try {
      for (;;) {
        const seen = this.table.changes;
        signal?.throwIfAborted();
        if (until(this.table.view)) return { ...report, why: "over" };
        if (report.actions + report.answers >= maxActions) return { ...report, why: "max_actions" };
        if (!(await this.#act(report))) await this.table.changed(seen, signal);
      }
    } finally {
      stop();
    }
  }

  /** A frame that changes entities makes it worth looking again; talk does not. */
  #stir(move: Move): void {
    const { views, gone, view } = move as { views?: object | null; gone?: object | null; view?: object | null };
    if (Object.keys(views ?? {}).length || Object.keys(gone ?? {}).length || view) {
      this.#stirred = true;
      this.#refusedHere.clear();
    }
  }

  /** Do one thing if there is one. False when there is nothing to do until something changes. */
  async #act(report: Report): Promise<boolean> {
    const answer = this.#answer();
    if (answer) {
      if (await this.#send(answer, report)) report.answers += 1;
      return true;
    }
    const present = keyOf(this.table.presence);
    if (present !== this.#present) {
      this.#present = present;
      this.#stirred = true;
    }
    if (!this.#stirred || this.#refusedHere.size >= MOST_REFUSALS) return false;
    this.#stirred = false;
    const command = this.choose(await this.table.options());
    if (!command) return this.#stirred;
    if (await this.#send(command, report)) {
      report.actions += 1;
      this.#thisTurn = endsTurn(command) ? 0 : this.#thisTurn + 1;
    }
    this.#stirred = true;
    return true;
  }

  async #send(command: Filled, report: Report): Promise<boolean> {
    if (this.#think > 0) await new Promise((resolve) => setTimeout(resolve, this.#think));
    try {
      await this.table.do(command);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // Somebody was faster, or the offer was not good after all: not again before something changes.
      report.refused += 1;
      this.#refusedHere.add(keyOf(command));
      return false;
    }
    return true;
  }

  #answer(): Filled | null {
    for (const prompt of this.table.promptsOpen) {
      const command: Filled = { type: "answer", prompt: prompt.id };
      const choices = (prompt.choices ?? []).map(({ value }) => value);
      const legal = choices.filter((choice) => !this.#refusedHere.has(keyOf({ ...command, choice })));
      if (choices.length && !legal.length) continue;
      if (legal.length) command["choice"] = this.#random.choice(legal);
      const ints = this.#ints(prompt, command["choice"] ?? "");
      if (ints) command["ints"] = ints;
      if (!this.#refusedHere.has(keyOf(command))) return command;
    }
    return null;
  }

  #ints({ ints: wanted }: Question, choice: unknown): number[] | null {
    if (!wanted || !["", choice].includes((wanted as Ints & { choice?: string }).choice ?? "")) return null;
    const count = this.#random.int(wanted.least ?? 0, wanted.most ?? 0);
    return Array.from({ length: count }, () => this.#random.int(wanted.low ?? 0, wanted.high ?? 0));
  }

  /** One command made from the options, its params filled in; null when none of them is for this pilot. */
  choose(options: readonly Option[]): Filled | null {
    const encounters = Object.entries(this.table.view["encounters"] ?? {});
    const turn = JSON.stringify(encounters.map(([id, each]) => [id, each["round"], each["turn"], each["current"]]));
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#thisTurn = 0;
    }
    const others = this.#inOtherHands();
    const acts: [command: Filled, weight: number][] = [];
    const ends: typeof acts = [];
    for (const option of options) {
      const weight = this.#weight(option);
      if (others.has(option.combatant ?? "") || !(weight > 0)) continue;
      const command = this.#fill(option);
      if (!command || this.#refusedHere.has(keyOf(command))) continue;
      (endsTurn(command) ? ends : acts).push([command, weight]);
    }
    const ending = ends.length && (!acts.length || this.#random.random() < END_FIRST + END_GROWTH * this.#thisTurn);
    const from = ending ? ends : acts;
    if (!from.length) return null;
    return this.#random.weighted(
      from.map(([command]) => command),
      from.map(([, weight]) => weight),
    );
  }

  /**
   * Combatants that somebody else controls who is here to play them: a GM may, and leaves it to them.
   * Until the server has told who is here, everybody may be.
   */
  #inOtherHands(): Set<string> {
    const { view, presence, seat: own } = this.table;
    const told = Object.keys(presence).length > 0;
    const found = new Set<string>();
    for (const [id, seat] of Object.entries(view["seats"] ?? {})) {
      if (id !== own && (!told || presence[id])) for (const each of seat["controls"] ?? []) found.add(each as string);
    }
    for (const each of view["seats"]?.[own]?.["controls"] ?? []) found.delete(each as string);
    return found;
  }

  #weight(option: Option): number {
    const names = [option.type, String(option.command["type"] ?? "")];
    if (typeof this.#prefer === "function") {
      const weight = this.#prefer(option);
      if (typeof weight === "number") return weight;
    } else if (this.#prefer?.some((name) => names.includes(name))) {
      return PREFERRED_WEIGHT;
    }
    if (names.some((name) => NOT_PLAY.test(name))) return 0;
    return option.odds ? ODDS_WEIGHT : 1;
  }

  /** The option's command with every param filled from what the option lists; null when one cannot be. */
  #fill(option: Option): Filled | null {
    const command = { ...(option.command as Command) } as Filled;
    for (const param of option.params ?? []) {
      if (param.optional && this.#random.random() < 0.5) continue;
      const value = this.#value(param);
      if (value !== null) command[param.name] = value;
      else if (!param.optional) return null;
    }
    return command;
  }

  #value({ kind = "choice", choices = [], min, max, default: proposed = null }: Param): unknown {
    if (kind === "choice") return choices.length ? this.#random.choice(choices).value : proposed;
    if (kind !== "int") return proposed;
    const low = min ?? (typeof proposed === "number" ? proposed : Math.min(max ?? 0, 0));
    return this.#random.int(low, Math.max(low, max ?? low));
  }
}

function endsTurn(command: Filled): boolean {
  return ENDS_TURN.test(command.type);
}

/** The same text for the same fields, whatever their order. */
function keyOf(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each) ? Object.fromEntries(Object.entries(each).sort(byName)) : each,
  );
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
