/**
 * Texts in one language: the page's own by key, the server's by message id, in the catalogue format the terminal app uses.
 *
 * A catalogue is a flat map from key to text with `{name}` for values. Message keys are `<kind>:<id>`; one may end in
 * `?<field>=<value>` for a text that serves only then.
 */
export type Catalogue = { readonly [key: string]: string };
export type Fields = { readonly [field: string]: unknown };
/** Says a field's value for people: the name behind an id. Null when that cannot be said, so the server's own text is shown. */
export type Say = (field: string, value: unknown) => string | null;

export interface Language {
  readonly code: string;
  readonly title: string;
  readonly ui: Catalogue;
  readonly messages: Catalogue;
}

const own = (from: Catalogue, key: string): string | undefined => (Object.hasOwn(from, key) ? from[key] : undefined);

/** Fill `{name}` places; doubled braces stand for single ones. Null when a value is missing. */
export function fill(template: string, value: (name: string) => string | null): string | null {
  let missing = false;
  const done = template.replace(/\{\{|\}\}|\{(\w+)\}/g, (found, name: string | undefined) => {
    if (name === undefined) return found[0]!;
    const said = value(name);
    if (said === null) missing = true;
    return said ?? "";
  });
  return missing ? null : done;
}

const UNITS = [
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
] as const;

export class Texts {
  constructor(
    readonly language: Language,
    readonly fallback: Language,
  ) {}

  /** One of the page's own texts. A key without a text in this language is said in the fallback's. */
  t(key: string, named: Fields = {}): string {
    const template = own(this.language.ui, key) ?? own(this.fallback.ui, key) ?? key;
    return fill(template, (name) => String(named[name] ?? "")) ?? key;
  }

  /** The translation of something the server says, null when there is none or it needs what `data` does not have. */
  message(kind: string, id: string, data: Fields, say: Say): string | null {
    for (const [name, value] of Object.entries(data)) {
      if (!["boolean", "number", "string"].includes(typeof value)) continue;
      const found = own(this.language.messages, `${kind}:${id}?${name}=${value}`);
      if (found !== undefined) return filled(found, data, say);
    }
    const found = own(this.language.messages, `${kind}:${id}`);
    return found === undefined ? null : filled(found, data, say);
  }

  /** The translation of one word of a ruleset (`field`, `value`, `choice`, `param`), null when there is none. */
  word(kind: string, id: string): string | null {
    return own(this.language.messages, `${kind}:${id}`) ?? null;
  }

  /** A field's name for people. */
  field(name: string): string {
    return this.word("field", name) ?? name.replaceAll("_", " ");
  }

  /** Time left as a clock while it is less than an hour ("4:09"), else in the largest fitting unit. */
  countdown(milliseconds: number): string {
    const seconds = Math.max(Math.floor(milliseconds / 1000), 0);
    if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const [size, unit] = UNITS.find(([least]) => seconds >= least)!;
    const n = Math.floor(seconds / size);
    return this.t(n === 1 ? `span.${unit}` : `span.${unit}s`, { n });
  }
}

function filled(template: string, data: Fields, say: Say): string | null {
  return fill(template, (name) => (Object.hasOwn(data, name) ? say(name, data[name]) : null));
}
