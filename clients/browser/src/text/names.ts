/**
 * What ids and values are called: names out of a view, words of a ruleset out of the catalogue.
 */
import type { Fields, Texts } from "./texts.js";

type View = { readonly [kind: string]: { readonly [id: string]: Fields } };

/** Fields whose values are ids: shown by name or, when nobody is called that, not at all. */
const REFERENCES = new Set(
  "combatant by target helper seat to from actor leader for after scene zone cover encounter pool test weapon".split(" "),
);

const isMap = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export class Names {
  #view: View = {};
  #marks = new Map<string, string>();

  constructor(public texts: Texts) {}

  get view(): View {
    return this.#view;
  }

  /** Look into this view from now on, and tell namesakes apart: the second Junk picker is "Junk picker ·2". */
  look(view: View): void {
    const moved = view["combatants"] !== this.#view["combatants"];
    this.#view = view;
    if (!moved) return;
    const called = new Map<string, string[]>();
    for (const [id, each] of Object.entries(view["combatants"] ?? {})) {
      const name = String(each["name"] ?? id);
      called.set(name, [...(called.get(name) ?? []), id]);
    }
    this.#marks.clear();
    for (const ids of called.values()) if (ids.length > 1) ids.forEach((id, at) => this.#marks.set(id, ` ·${at + 1}`));
  }

  combatant(id: string): string {
    return String(this.#view["combatants"]?.[id]?.["name"] ?? id) + (this.#marks.get(id) ?? "");
  }

  mark(id: string): string {
    return this.#marks.get(id) ?? "";
  }

  seat(id: string): string {
    return id === "@system" ? this.texts.t("who.server") : String(this.#view["seats"]?.[id]?.["name"] ?? id);
  }

  /** The name behind an id of whatever kind, null when there is nothing by that id. */
  of(id: string): string | null {
    if (this.#view["combatants"]?.[id]) return this.combatant(id);
    if (this.#view["pools"]?.[id]) return this.pool(id);
    for (const kind of ["seats", "scenes", "tests"]) {
      const entity = this.#view[kind]?.[id];
      if (entity) return String(entity["name"] || entity["label"] || id);
    }
    for (const scene of Object.values(this.#view["scenes"] ?? {})) {
      for (const zone of list(scene["zones"])) {
        if (!isMap(zone)) continue;
        if (zone["id"] === id) return String(zone["name"] ?? id);
        for (const cover of list(zone["covers"])) if (isMap(cover) && cover["id"] === id) return String(cover["name"] ?? id);
      }
    }
    return this.#thing(id);
  }

  pool(id: string): string {
    return this.texts.word("pool", id) ?? String(this.#view["pools"]?.[id]?.["name"] ?? this.texts.field(id));
  }

  /** What somebody carries is called: anything with an id and a name in a list of a combatant. */
  #thing(id: string): string | null {
    for (const entity of Object.values(this.#view["combatants"] ?? {})) {
      for (const value of Object.values(entity)) {
        for (const each of list(value)) if (isMap(each) && each["id"] === id && each["name"]) return String(each["name"]);
      }
    }
    return null;
  }

  /** One field of an event or a command in words, null when it cannot be said. */
  say = (field: string, value: unknown): string | null => {
    if (typeof value === "boolean") return this.texts.t(value ? "yes" : "no");
    if (typeof value === "number") return String(value);
    if (typeof value === "string") {
      const word = this.texts.word("value", value);
      return REFERENCES.has(field) ? (this.of(value) ?? word) : (word ?? value);
    }
    if (Array.isArray(value)) {
      const said = value.map((each) => this.say(field, each));
      return said.includes(null) ? null : said.join(this.texts.t("list.comma"));
    }
    return null;
  };

  /** The text of an event, option or prompt: translated by its `type` where the catalogue can, else as the server says it. */
  message(kind: string, entity: Fields, data: Fields = entity): string {
    const id = String(entity["type"] ?? "");
    return this.texts.message(kind, id, data, this.say) ?? String(entity["text"] || id);
  }

  option(option: Fields): string {
    return this.message("option", option, { ...(option["command"] as Fields), combatant: option["combatant"] ?? "" });
  }

  prompt(prompt: Fields): string {
    return this.message("prompt", prompt, { ...((prompt["data"] as Fields) ?? {}), ...prompt });
  }

  /** A listed value, of the prompt type or the param called `owner`. */
  choice(owner: string, choice: { readonly value: unknown; readonly text?: unknown }): string {
    const { value } = choice;
    const word = ["boolean", "string", "number"].includes(typeof value) ? this.texts.word("choice", `${owner}.${value}`) : null;
    if (word !== null) return word;
    const who = Array.isArray(value) && value.length === 1 ? value[0] : value;
    const text = String(choice.text ?? value);
    const mark = typeof who === "string" ? this.mark(who) : "";
    if (!mark) return text;
    // "Junk picker, difficulty 1" names the second of three as "Junk picker ·2, difficulty 1".
    const name = String(this.#view["combatants"]?.[String(who)]?.["name"]);
    return text.includes(name) ? text.replace(name, () => name + mark) : text + mark;
  }

  param(param: { readonly name: string; readonly text?: unknown }): string {
    return this.texts.word("param", param.name) ?? String(param.text || param.name);
  }
}
