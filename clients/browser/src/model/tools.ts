/**
 * What a GM may do under every ruleset, in the form of options: commands of the protocol, filled in from what the view shows.
 */
import type { Names } from "../text/names.js";
import type { Choice, Order, Param } from "./orders.js";

type Entity = { readonly [field: string]: any };

export function tools(names: Names): Order[] {
  const { view, texts } = names;
  const t = (key: string): string => texts.t(key);
  const of = (kind: string): readonly (readonly [string, Entity])[] => Object.entries(view[kind] ?? {});
  const say = (id: string): string => names.of(id) ?? id;

  const choice = (name: string, choices: readonly Choice[], more: Partial<Param> & { label?: string } = {}): Param => {
    const { label, ...rest } = more;
    return { name, text: t(`gm.${label ?? name}`), kind: "choice", choices, ...rest };
  };
  const text = (name: string, more: Partial<Param> = {}): Param => ({ name, text: t(`gm.${name}`), kind: "text", ...more });
  const json = (name: string, more: Partial<Param> = {}): Param => ({ name, text: t(`gm.${name}`), kind: "json", ...more });
  const int = (name: string, min: number, max: number, first: number, more: Partial<Param> = {}): Param => ({
    name,
    text: t(`gm.${name}`),
    kind: "int",
    min,
    max,
    default: first,
    ...more,
  });
  const ids = (kind: string): Choice[] => of(kind).map(([id]) => ({ value: id, text: say(id) }));

  const places: Choice[] = of("scenes").flatMap(([scene, each]) =>
    ((each["zones"] ?? []) as readonly Entity[]).map((zone) => ({
      value: { scene, zone: zone["id"] },
      text: of("scenes").length > 1 ? `${say(scene)}: ${zone["name"]}` : String(zone["name"]),
    })),
  );
  const shownAs = (hidden: boolean): Choice[] => [
    ...["combatants", "scenes", "pools", "tests"].flatMap((kind) =>
      of(kind)
        .filter(([, each]) => Boolean(each["hidden"]) === hidden)
        .map(([id]) => ({ value: { kind, id }, text: say(id) })),
    ),
    ...of("scenes").flatMap(([scene, each]) => [
      ...((each["zones"] ?? []) as readonly Entity[])
        .filter((zone) => Boolean(zone["hidden"]) === hidden)
        .map((zone) => ({ value: { kind: "zone", id: zone["id"], scene }, text: String(zone["name"]) })),
      ...((each["edges"] ?? []) as readonly Entity[])
        .filter((edge) => Boolean(edge["hidden"]) === hidden)
        .map((edge) => ({ value: { kind: "edge", id: edge["a"], to: edge["b"], scene }, text: `${say(edge["a"])} – ${say(edge["b"])}` })),
    ]),
  ];
  const yesno: Choice[] = [
    { value: false, text: t("no") },
    { value: true, text: t("yes") },
  ];
  const roles: Choice[] = ["player", "gm", "spectator"].map((value) => ({ value, text: t(`role.${value}`) }));

  const made: Order[] = [];
  const tool = (type: string, fields: { [field: string]: unknown }, params: readonly Param[], about = "", key = type): void => {
    made.push({ type, text: t(`tool.${key}`) + (about ? `: ${about}` : ""), command: { type, ...fields }, params, group: "table" });
  };

  const fighting = new Set(of("encounters").map(([, each]) => each["scene"]));
  for (const [id] of of("scenes")) {
    if (fighting.has(id)) continue;
    const there = of("combatants").filter(([, each]) => each["scene"] === id);
    tool(
      "gm.encounter",
      { scene: id },
      [
        choice(
          "first",
          there.map(([who]) => ({ value: who, text: say(who) })),
          { optional: true },
        ),
      ],
      say(id),
    );
  }
  const paused = Boolean(view["table"]?.["table"]?.["paused"]);
  tool("gm.pause", { on: !paused }, [], "", paused ? "gm.pause.off" : "gm.pause.on");
  tool("gm.undo", {}, [
    int("to", 0, 2 ** 53 - 1, 0, { optional: true }),
    choice(
      "dice",
      [
        { value: "keep", text: t("gm.keep") },
        { value: "new", text: t("gm.new") },
      ],
      { default: "keep" },
    ),
  ]);
  const settable = ["combatants", "pools", "scenes", "tests"].flatMap((kind) =>
    of(kind).map(([id]) => ({ value: { kind, id }, text: say(id) })),
  );
  if (settable.length) tool("gm.set", {}, [choice("what", settable, { merge: true }), text("field"), json("value")]);
  tool("gm.spawn", {}, [
    text("template", { optional: true }),
    text("name", { optional: true }),
    text("side", { optional: true }),
    choice("place", [{ value: {}, text: t("form.none") }, ...places], { merge: true, default: {} }),
    choice("seat", ids("seats"), { optional: true }),
    choice("hidden", yesno, { default: false }),
    json("fields", { optional: true }),
  ]);
  for (const [type, hidden] of [
    ["gm.reveal", true],
    ["gm.hide", false],
  ] as const) {
    const what = shownAs(hidden);
    if (what.length) tool(type, {}, [choice("what", what, { merge: true })]);
  }
  if (of("combatants").length) {
    tool("gm.move", {}, [choice("combatant", ids("combatants")), choice("place", places, { merge: true })]);
    tool("gm.remove", {}, [choice("combatant", ids("combatants"))]);
  }
  for (const [id, fight] of of("encounters")) {
    const order = (fight["order"] ?? []) as readonly string[];
    const waiting = order.filter((who) => !((fight["acted"] ?? []) as readonly string[]).includes(who));
    tool("gm.turn", { encounter: id }, [
      choice(
        "combatant",
        waiting.map((who) => ({ value: who, text: say(who) })),
        { optional: true },
      ),
    ]);
    const absent = of("combatants").filter(([who]) => !order.includes(who));
    if (absent.length)
      tool("gm.encounter.join", { encounter: id }, [
        choice(
          "combatant",
          absent.map(([who]) => ({ value: who, text: say(who) })),
        ),
      ]);
    tool("gm.encounter.end", { encounter: id }, [], say(String(fight["scene"])));
  }
  for (const [id, prompt] of of("prompts")) {
    if (prompt["answered"]) continue;
    const how = [
      { value: "default", text: t("gm.take_default") },
      { value: "void", text: t("gm.void") },
    ];
    tool("gm.prompt", { prompt: id }, [choice("do", how, { default: "default" })], names.seat(String(prompt["to"])));
  }
  tool("gm.sitting", {}, []);
  tool("gm.clock", {}, [int("minutes", 1, 525_600, 10)]);
  tool("gm.dice", {}, [
    choice(
      "do",
      ["reveal", "physical", "seeded"].map((value) => ({ value, text: t(`gm.dice.${value}`) })),
      { label: "dice_do" },
    ),
    choice(
      "stream",
      ["open", "hidden"].map((value) => ({ value, text: t(`dice.${value}`) })),
      { default: "open" },
    ),
  ]);
  tool("gm.seat.add", {}, [text("seat"), text("name"), choice("role", roles, { default: "player" })]);
  tool("gm.seat", {}, [choice("seat", ids("seats")), choice("role", roles, { optional: true }), json("controls", { optional: true })]);
  tool("gm.seat.remove", {}, [choice("seat", ids("seats"))]);
  tool("gm.setting", {}, [text("key"), int("value", 0, 1_000_000, 0)]);
  made.push({
    type: "raw",
    text: t("tool.raw"),
    command: { type: "" },
    params: [json("raw", { merge: true, default: { type: "" } })],
    group: "table",
  });
  return made;
}
