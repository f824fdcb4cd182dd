/**
 * The dice of events, and the check of docs/dice.md: seeds against their commitments, faces against their seeds, computed here.
 */
type Fields = { readonly [field: string]: unknown };

export interface Roll {
  readonly stream: string;
  readonly index: number;
  readonly n: number;
  readonly sides: number;
  readonly faces: readonly number[];
  readonly of?: number;
  readonly positions?: readonly number[];
  readonly kept?: readonly (readonly [number, number])[];
  readonly proven?: boolean;
}

const SCHEME = "sha256-ctr-1";

/** The rolls that an event tells of. */
export function rollsOf(event: Fields): readonly Roll[] {
  const rolls = event["rolls"];
  const sound = (each: unknown): boolean => {
    const roll = each as Roll | null;
    return typeof roll === "object" && roll !== null && Array.isArray(roll.faces) && typeof roll.sides === "number";
  };
  return Array.isArray(rolls) ? (rolls.filter(sound) as Roll[]) : [];
}

/** How many of a roll's faces were kept from an undone one: the first so many. */
export function keptOf(roll: Roll): number {
  return (roll.kept ?? []).reduce((sum, [, count]) => sum + count, 0);
}

/** One dice epoch of a stream and how its rolls fared. `fits` is null while the seed is secret, or its commitment was not seen. */
export interface Checked {
  readonly stream: string;
  readonly index: number;
  readonly commitment: string;
  readonly seed: string;
  readonly fits: boolean | null;
  readonly right: number;
  readonly wrong: readonly number[];
  readonly entered: number;
  readonly waiting: number;
}

interface Epoch {
  stream: string;
  index: number;
  commitment: string;
  seed: string;
  salts: readonly (readonly [string, string])[];
}

type Bytes = Uint8Array<ArrayBuffer>;

async function sha256(...pieces: readonly Uint8Array[]): Promise<Bytes> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
}

const hex = (bytes: Uint8Array): string => [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");

function unhex(text: string): Bytes {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new TypeError("no hex digits");
  return new Uint8Array((text.match(/../g) ?? []).map((each) => parseInt(each, 16)));
}

function big(value: number, bytes: 4 | 8): Bytes {
  const made = new DataView(new ArrayBuffer(bytes));
  if (bytes === 8) made.setBigUint64(0, BigInt(value));
  else made.setUint32(0, value);
  return new Uint8Array(made.buffer);
}

function compared(a: Uint8Array, b: Uint8Array): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) if (a[at] !== b[at]) return a[at]! - b[at]!;
  return a.length - b.length;
}

/** The key of a dice epoch from its seed (hex) and the pairs [seat, salt]. */
export async function keyOf(seed: string, salts: readonly (readonly [string, string])[]): Promise<Bytes> {
  const text = new TextEncoder();
  const pairs = salts.map(([seat, salt]) => [text.encode(seat), text.encode(salt)] as const).sort(([a], [b]) => compared(a, b));
  const parts = pairs.flat().flatMap((each) => [big(each.length, 4), each]);
  return sha256(unhex(seed), pairs.length ? await sha256(...parts) : new Uint8Array(32));
}

/** The `count` faces of roll `n`, each from 1 to `sides`. */
export async function draw(key: Uint8Array, n: number, count: number, sides: number): Promise<number[]> {
  const size = sides <= 256 ? 1 : 4;
  const values = size === 1 ? 256 : 2 ** 32;
  const limit = values - (values % sides);
  const faces: number[] = [];
  for (let block = 0; faces.length < count; block++) {
    const bytes = new DataView((await sha256(key, big(n, 8), big(block, 4))).buffer);
    for (let at = 0; at < 32; at += size) {
      const value = size === 1 ? bytes.getUint8(at) : bytes.getUint32(at);
      if (value < limit) faces.push((value % sides) + 1);
    }
  }
  return faces.slice(0, count);
}

/** Check every roll of these entries, oldest first. `unread` counts events that could not be understood. */
export async function check(
  entries: readonly { readonly events?: readonly Fields[] }[],
): Promise<{ readonly epochs: readonly Checked[]; readonly unread: number }> {
  const epochs = new Map<string, Epoch>();
  const rolls: Roll[] = [];
  let unread = 0;
  const epochOf = (stream: unknown, index: unknown): Epoch => {
    const id = `${stream} ${index}`;
    const known = epochs.get(id) ?? { stream: String(stream), index: Number(index), commitment: "", seed: "", salts: [] };
    epochs.set(id, known);
    return known;
  };
  for (const event of entries.flatMap(({ events }) => events ?? [])) {
    if (event["type"] === "dice.opened") {
      if ((event["scheme"] ?? SCHEME) === SCHEME) epochOf(event["stream"], event["index"]).commitment = String(event["commitment"]);
      else unread += 1;
    } else if (event["type"] === "dice.revealed") {
      const epoch = epochOf(event["stream"], event["index"]);
      epoch.seed = String(event["seed"]);
      epoch.salts = (event["salts"] ?? []) as Epoch["salts"];
    }
    rolls.push(...rollsOf(event));
  }
  const keys = new Map<Epoch, Bytes>();
  const results = new Map<Epoch, { fits: boolean | null; right: number; wrong: number[]; entered: number; waiting: number }>();
  for (const roll of rolls) epochOf(roll.stream, roll.index);
  for (const epoch of epochs.values()) {
    let fits: boolean | null = null;
    try {
      if (epoch.seed) {
        keys.set(epoch, await keyOf(epoch.seed, epoch.salts));
        if (epoch.commitment) fits = hex(await sha256(unhex(epoch.seed))) === epoch.commitment;
      }
    } catch {
      unread += 1;
    }
    results.set(epoch, { fits, right: 0, wrong: [], entered: 0, waiting: 0 });
  }
  const left = new Map<string, readonly number[]>();
  for (const roll of rolls) {
    const epoch = epochOf(roll.stream, roll.index);
    const result = results.get(epoch)!;
    const key = keys.get(epoch);
    let fresh = roll.faces;
    let same = true;
    for (const [voided, count] of roll.kept ?? []) {
      const id = `${roll.stream} ${voided}`;
      const old = left.get(id);
      if (old) {
        same &&= old.slice(0, count).join() === fresh.slice(0, count).join();
        left.set(id, old.slice(count));
      }
      fresh = fresh.slice(count);
    }
    left.set(`${roll.stream} ${roll.n}`, roll.faces);
    if (!same) result.wrong.push(roll.n);
    else if (fresh.length && roll.proven === false) result.entered += 1;
    else if (fresh.length && !key) result.waiting += 1;
    else if (fresh.length && (await draw(key!, roll.n, fresh.length, roll.sides)).join() !== fresh.join()) result.wrong.push(roll.n);
    else result.right += 1;
  }
  const checked = [...results].map(([{ stream, index, commitment, seed }, result]) => ({ stream, index, commitment, seed, ...result }));
  checked.sort((a, b) => (a.stream < b.stream ? -1 : a.stream > b.stream ? 1 : a.index - b.index));
  return { epochs: checked, unread };
}
