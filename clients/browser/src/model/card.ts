/**
 * What a combatant's card shows, by the form of its fields and never by their names: `x` beside `max_x` is a bar, a true field a mark,
 * a list a line of names, a map a row of figures.
 */
type Fields = { readonly [field: string]: unknown };

export interface Bar {
  readonly field: string;
  readonly value: number;
  readonly most: number;
}

export interface Card {
  readonly bars: readonly Bar[];
  readonly marks: readonly string[];
  readonly figures: readonly { readonly field: string; readonly value: number | string }[];
  readonly lists: readonly { readonly field: string; readonly values: readonly string[] }[];
  readonly maps: readonly { readonly field: string; readonly values: readonly (readonly [string, number])[] }[];
}

/** Shown elsewhere on the card, or by the map. */
const STRUCTURE = new Set(["id", "name", "scene", "zone", "cover", "kind", "template", "side", "out", "hidden", "reach"]);

const isMap = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

function named(value: unknown): string {
  if (isMap(value)) return String(value["name"] ?? value["at"] ?? value["id"] ?? "?");
  return Array.isArray(value) ? value.map(String).join(" ") : String(value);
}

export function card(entity: Fields): Card {
  const bars: Bar[] = [];
  const marks: string[] = [];
  const figures: { field: string; value: number | string }[] = [];
  const lists: { field: string; values: string[] }[] = [];
  const maps: { field: string; values: (readonly [string, number])[] }[] = [];
  for (const [field, value] of Object.entries(entity)) {
    if (STRUCTURE.has(field) || value === false || value === null || value === "") continue;
    if (field.startsWith("max_") && typeof entity[field.slice(4)] === "number") continue;
    if (field.endsWith("_limit") && typeof entity[field.slice(0, -6)] === "number") continue;
    const most = entity[`max_${field}`] ?? entity[`${field}_limit`];
    if (value === true) marks.push(field);
    else if (typeof value === "number" && typeof most === "number" && most > 0) bars.push({ field, value, most });
    else if (typeof value === "number" || typeof value === "string") figures.push({ field, value });
    else if (Array.isArray(value) && value.length) lists.push({ field, values: value.map(named) });
    else if (isMap(value)) {
      marks.push(...Object.keys(value).filter((key) => value[key] === true));
      const numbers = Object.entries(value).filter((pair): pair is [string, number] => typeof pair[1] === "number");
      if (numbers.length && numbers.some(([, each]) => each)) maps.push({ field, values: numbers });
    }
  }
  return { bars, marks: [...new Set(marks)], figures, lists, maps };
}

/** The sides of a table in order of their names: a combatant's colour is its side's place among them. */
export function sides(combatants: { readonly [id: string]: Fields }): readonly string[] {
  return [...new Set(Object.values(combatants).map((each) => String(each["side"] ?? "")))].sort();
}

/** Two letters that stand for a name on a token. */
export function initials(name: string): string {
  const words = name.split(/[\s·]+/).filter(Boolean);
  const [first = "?", second] = words;
  if (second && /^\d+$/.test(words.at(-1)!)) return (first[0]! + words.at(-1)!).toUpperCase();
  const letters = [...first];
  return second ? letters[0]!.toUpperCase() + [...second][0]!.toUpperCase() : letters[0]!.toUpperCase() + (letters[1] ?? "");
}
