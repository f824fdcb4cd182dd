/**
 * The order of a fight: whose turn it is, who is next, who has acted. Its height never changes.
 */
import { useEffect, useRef } from "preact/hooks";
import { useWords } from "./context.js";
import { Check, Cross } from "./icons.js";

type Entity = { readonly [field: string]: any };

interface Props {
  readonly fight: Entity | undefined;
  readonly people: { readonly [id: string]: Entity };
  readonly mine: readonly string[];
  readonly sides: readonly string[];
}

export function Turns({ fight, people, mine, sides }: Props) {
  const { t, names } = useWords();
  const strip = useRef<HTMLOListElement>(null);
  const current = String(fight?.["current"] ?? "");
  useEffect(() => {
    const here = strip.current?.querySelector<HTMLElement>("[aria-current]");
    if (here) strip.current!.scrollTo({ left: here.offsetLeft - strip.current!.offsetLeft - 80 });
  }, [current]);
  if (!fight) return <p class="turns empty">{t("turns.peace")}</p>;
  const order = (fight["order"] ?? []) as readonly string[];
  const acted = new Set((fight["acted"] ?? []) as readonly string[]);
  const next = following(order, current, acted, people);
  return (
    <div class="turns">
      <b class="round">{t("turns.round", { n: fight["round"] })}</b>
      <ol ref={strip} tabIndex={0} aria-label={t("turns.order")}>
        {order.map((id) => {
          const each = people[id];
          const value = fight["initiative"]?.[id];
          const state = id === current ? "now" : each?.["out"] ? "out" : acted.has(id) ? "acted" : id === next ? "next" : "";
          const hue = sides.indexOf(String(each?.["side"] ?? "")) % 5;
          return (
            <li key={id} class={`turn ${state} side${hue}`} aria-current={id === current ? "step" : undefined} data-turn={id}>
              <span class="turn-name">
                {state === "acted" && <Check />}
                {state === "out" && <Cross />}
                {names.combatant(id)}
              </span>
              <small>
                {state ? t(`turns.${state}`) : value === undefined ? "\u00a0" : value}
                {mine.includes(id) && ` · ${t("card.yours")}`}
              </small>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Who is next, as far as the order tells: the first after the current one who has neither acted nor is out. */
function following(order: readonly string[], current: string, acted: ReadonlySet<string>, people: Props["people"]): string {
  const at = order.indexOf(current);
  const rest = [...order.slice(at + 1), ...order.slice(0, Math.max(at, 0))];
  return rest.find((id) => !acted.has(id) && !people[id]?.["out"] && id !== current) ?? "";
}
