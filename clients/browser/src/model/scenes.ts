/**
 * A scene on the drawing board: what the editor changes before it is sent as a whole.
 */
type Entity = { readonly [field: string]: any };

export interface Draft {
  readonly scene: string;
  readonly name: string;
  readonly hidden: boolean;
  readonly zones: readonly Entity[];
  readonly edges: readonly Entity[];
  readonly blind: readonly (readonly [string, string])[];
  readonly tags: readonly string[];
}

export function draftOf(scene: Entity | null, id: string, zoneName: string): Draft {
  return {
    scene: scene ? String(scene["id"]) : id,
    name: String(scene?.["name"] ?? ""),
    hidden: Boolean(scene?.["hidden"]),
    zones: (scene?.["zones"] as Entity[] | undefined) ?? [{ id: "z1", name: zoneName }],
    edges: (scene?.["edges"] as Entity[] | undefined) ?? [],
    blind: (scene?.["blind"] as [string, string][] | undefined) ?? [],
    tags: (scene?.["tags"] as string[] | undefined) ?? [],
  };
}

/** The first id of the form `<letter><number>` that nothing has. */
export function freeId(letter: string, taken: readonly string[]): string {
  for (let n = 1; ; n++) if (!taken.includes(`${letter}${n}`)) return `${letter}${n}`;
}

const joins = (each: Entity, a: string, b: string): boolean => (each["a"] === a && each["b"] === b) || (each["a"] === b && each["b"] === a);

export function isJoined(draft: Draft, a: string, b: string): boolean {
  return draft.edges.some((each) => joins(each, a, b));
}

/** Make a way between two zones, or take it away. */
export function join(draft: Draft, a: string, b: string, on: boolean): Draft {
  const others = draft.edges.filter((each) => !joins(each, a, b));
  return { ...draft, edges: on ? [...others, { a, b }] : others };
}

export function isBlind(draft: Draft, a: string, b: string): boolean {
  return draft.blind.some(([one, other]) => (one === a && other === b) || (one === b && other === a));
}

export function blindfold(draft: Draft, a: string, b: string, on: boolean): Draft {
  const others = draft.blind.filter(([one, other]) => !((one === a && other === b) || (one === b && other === a)));
  return { ...draft, blind: on ? [...others, [a, b] as const] : others };
}

export function changeZone(draft: Draft, id: string, change: Entity): Draft {
  return { ...draft, zones: draft.zones.map((each) => (each["id"] === id ? { ...each, ...change } : each)) };
}

export function addZone(draft: Draft, name: string): Draft {
  const id = freeId(
    "z",
    draft.zones.map((each) => String(each["id"])),
  );
  const last = draft.zones.at(-1);
  const next = { ...draft, zones: [...draft.zones, { id, name }] };
  return last ? join(next, String(last["id"]), id, true) : next;
}

export function dropZone(draft: Draft, id: string): Draft {
  return {
    ...draft,
    zones: draft.zones.filter((each) => each["id"] !== id),
    edges: draft.edges.filter((each) => each["a"] !== id && each["b"] !== id),
    blind: draft.blind.filter((pair) => !pair.includes(id)),
  };
}

/** Covers as the editor writes them, one name each; those that keep their name keep what they hide. */
export function covers(zone: Entity, names: readonly string[]): readonly Entity[] {
  const before = (zone["covers"] ?? []) as readonly Entity[];
  const made: Entity[] = [];
  for (const name of names) {
    const known = before.find((each) => each["name"] === name);
    const taken = [...before, ...made].map((each) => String(each["id"]));
    made.push(known ?? { id: freeId("k", taken), name, hides: ["*"] });
  }
  return made;
}

/** The command that makes the scene what the draft says. */
export function commandOf(draft: Draft): { type: string; [field: string]: unknown } {
  return { type: "gm.scene", ...draft };
}
