/**
 * Options as orders to give: what they are about, what still has to be chosen, and the command that comes of it.
 */
export type Value = unknown;
export interface Choice {
  readonly value: Value;
  readonly text: string;
}
export interface Param {
  readonly name: string;
  readonly text?: string;
  readonly kind?: string;
  readonly choices?: readonly Choice[];
  readonly min?: number | null;
  readonly max?: number | null;
  readonly default?: Value;
  readonly optional?: boolean;
  /** The page's own tools: the value's fields become fields of the command. */
  readonly merge?: boolean;
}
export interface Order {
  readonly type: string;
  readonly text: string;
  readonly command: { readonly [field: string]: Value };
  readonly combatant?: string | null;
  readonly params?: readonly Param[];
  readonly cost?: readonly { readonly pool: string; readonly amount: number }[];
  readonly odds?: boolean;
  readonly group?: string;
  readonly prompt?: string | null;
}
export type Picks = { readonly [param: string]: Value };

/** What stays the same of an option when it is offered anew. */
export function keyOf(order: Order): string {
  return JSON.stringify([order.type, order.command, (order.params ?? []).map(({ name }) => name)]);
}

export const same = (a: Value, b: Value): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** First proposals: the default, else the first choice or the least number of what must be given. */
export function proposals(order: Order, before: Picks = {}): Picks {
  const picks: { [param: string]: Value } = {};
  for (const param of order.params ?? []) {
    const kept = before[param.name];
    if (Object.hasOwn(before, param.name) && fits(param, kept)) picks[param.name] = kept;
    else if (param.default !== undefined && param.default !== null) picks[param.name] = param.default;
    else if (param.optional) continue;
    else if (param.choices?.length) picks[param.name] = param.choices[0]!.value;
    else if (param.kind === "int") picks[param.name] = param.min ?? 0;
  }
  return picks;
}

function fits(param: Param, value: Value): boolean {
  if (param.choices) return param.choices.some((each) => same(each.value, value));
  if (param.kind === "int") return typeof value === "number" && value >= (param.min ?? -Infinity) && value <= (param.max ?? Infinity);
  return typeof value === "string" || (param.kind === "json" && value !== undefined);
}

/** The command to send, or the name of the param that still lacks a value. */
export function commandOf(order: Order, picks: Picks): { command: { type: string; [field: string]: Value } } | { lacks: string } {
  let command: { [field: string]: Value } = { ...order.command };
  for (const param of order.params ?? []) {
    const value = picks[param.name];
    const given = value !== undefined && !(value === "" && !param.choices);
    if (!given && !param.optional) return { lacks: param.name };
    if (!given) continue;
    if (param.merge) command = { ...command, ...(value as object) };
    else command[param.name] = value;
  }
  return { command: command as { type: string } };
}

/** Ids that an option or one of its choices names: the zones and people that may be touched on the map for it. */
export function namedBy(order: Order): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (value: Value): void => {
    if (typeof value === "string") found.add(value);
    else if (Array.isArray(value)) value.forEach(add);
  };
  for (const [field, value] of Object.entries(order.command)) if (field !== "combatant" && field !== "type") add(value);
  for (const param of order.params ?? []) for (const each of param.choices ?? []) add(each.value);
  return found;
}

/** The picks after `id` was touched: the first param that lists it takes it. Null when none does. */
export function touched(order: Order, picks: Picks, id: string): Picks | null {
  for (const param of order.params ?? []) {
    const choice = param.choices?.find(({ value }) => same(value, id) || same(value, [id]));
    if (choice) return { ...picks, [param.name]: choice.value };
  }
  return null;
}
