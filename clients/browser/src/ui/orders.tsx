/**
 * What can be done: options as buttons, and the sheet on which one is completed, with its cost and exact chances, before it is done.
 */
import type { Chances as Told } from "dustup-client";
import { useEffect, useRef, useState } from "preact/hooks";
import { textOf } from "../game.js";
import { type Order, type Param, type Picks, commandOf, keyOf, namedBy, same } from "../model/orders.js";
import { percent } from "../model/fractions.js";
import { Chances } from "./chances.js";
import { useGame, useWords } from "./context.js";
import { Cross } from "./icons.js";

interface ListProps {
  readonly orders: readonly Order[];
  readonly picked: string;
  /** An id that was touched: what is about it comes first. */
  readonly about: string;
  forget(): void;
  pick(order: Order): void;
}

export function OrderList({ orders, picked, about, forget, pick }: ListProps) {
  const { t, names } = useWords();
  const play = orders.filter(({ group }) => group !== "table");
  const table = orders.filter(({ group }) => group === "table");
  const concerns = about ? play.filter((order) => order.combatant === about || namedBy(order).has(about)) : [];
  const rest = concerns.length ? play.filter((order) => !concerns.includes(order)) : play;
  const several = new Set(play.flatMap(({ combatant }) => (combatant ? [combatant] : []))).size > 1;
  // Two that read alike are told apart by what is to be chosen.
  const hintOf = (order: Order): string => {
    const twins = orders.filter((each) => each !== order && each.text === order.text && each.combatant === order.combatant);
    const theirs = new Set(twins.flatMap(({ params }) => (params ?? []).map(({ name }) => name)));
    const only = twins.length ? (order.params ?? []).filter(({ name }) => !theirs.has(name)) : [];
    return only.map((param) => names.param(param)).join(t("list.dot"));
  };
  const button = (order: Order, number?: number) => (
    <li key={keyOf(order)}>
      <OrderButton order={order} number={number} picked={picked === keyOf(order)} several={several} hint={hintOf(order)} pick={pick} />
    </li>
  );
  let number = 0;
  return (
    <div class="order-list">
      {about && (
        <p class="about">
          <b>{names.of(about) ?? about}</b>
          <span class="soft">{concerns.length ? "" : t("choices.none_about")}</span>
          <button class="plain small" onClick={forget}>
            {t("choices.forget")}
          </button>
        </p>
      )}
      {concerns.length > 0 && <ul class="orders">{concerns.map((order) => button(order, ++number))}</ul>}
      {concerns.length > 0 && rest.length > 0 && <p class="soft small">{t("choices.else")}</p>}
      {rest.length > 0 && <ul class="orders">{rest.map((order) => button(order, ++number))}</ul>}
      {play.length === 0 && <p class="empty">{t("choices.none")}</p>}
      {table.length > 0 && (
        <>
          <p class="soft small">{t("choices.table")}</p>
          <ul class="orders quiet">{table.map((order) => button(order))}</ul>
        </>
      )}
    </div>
  );
}

function OrderButton({
  order,
  number,
  picked,
  several,
  hint,
  pick,
}: {
  order: Order;
  number: number | undefined;
  picked: boolean;
  several: boolean;
  hint: string;
  pick(order: Order): void;
}) {
  const { names } = useWords();
  const text = names.option(order as never);
  const who = several && order.combatant ? names.combatant(order.combatant) : "";
  return (
    <button
      class={picked ? "order picked" : "order"}
      data-type={order.type}
      data-number={number !== undefined && number < 10 ? number : undefined}
      aria-pressed={picked}
      onClick={() => pick(order)}
    >
      {number !== undefined && number < 10 && <kbd aria-hidden="true">{number}</kbd>}
      <span>
        {text}
        {who && !text.includes(who) && <small>{who}</small>}
        {hint && <small>{hint}</small>}
      </span>
      <Cost order={order} />
      {order.params?.length ? <span aria-hidden="true">…</span> : null}
    </button>
  );
}

function Cost({ order }: { order: Order }) {
  const { names } = useWords();
  return (
    <>
      {(order.cost ?? []).map(({ pool, amount }) => (
        <span key={pool} class="tag cost">
          {amount} {names.pool(pool)}
        </span>
      ))}
    </>
  );
}

interface SheetProps {
  readonly order: Order;
  readonly picks: Picks;
  readonly at: number;
  setPicks(picks: Picks): void;
  give(command: { type: string }): void;
  cancel(): void;
}

export function OrderSheet({ order, picks, at, setPicks, give, cancel }: SheetProps) {
  const { t, names } = useWords();
  const game = useGame();
  const [answer, setAnswer] = useState<{ asked: string; told: Told } | null>(null);
  const [trouble, setTrouble] = useState("");
  const main = useRef<HTMLButtonElement>(null);
  const sheet = useRef<HTMLFormElement>(null);
  const result = commandOf(order, picks);
  const command = "command" in result ? result.command : null;
  const asked = command && order.odds ? JSON.stringify(command) : "";
  // Chances of another choice than the one shown would mislead.
  const odds = answer?.asked === asked ? answer.told : null;
  useEffect(() => {
    if (!asked) return;
    let isCurrent = true;
    game.odds(JSON.parse(asked) as { type: string }).then(
      (told) => isCurrent && (setAnswer({ asked, told }), setTrouble("")),
      (error: unknown) => isCurrent && (setAnswer(null), setTrouble(textOf(error))),
    );
    return () => {
      isCurrent = false;
    };
  }, [asked, at]);
  useEffect(() => {
    sheet.current?.scrollIntoView({ block: "nearest" });
    // Ready to be done by Enter; but what it would do must stay in sight.
    main.current?.focus({ preventScroll: true });
  }, [keyOf(order)]);
  const lacks = "lacks" in result ? order.params?.find(({ name }) => name === result.lacks) : undefined;
  return (
    <form
      class="sheet"
      ref={sheet}
      aria-label={names.option(order as never)}
      onSubmit={(event) => {
        event.preventDefault();
        if (command) give(command);
      }}
    >
      <header>
        <h3>{names.option(order as never)}</h3>
        <button type="button" class="plain icon-only" aria-label={t("form.cancel")} onClick={cancel}>
          <Cross />
        </button>
      </header>
      {(order.params ?? []).map((param) => (
        <ParamField key={param.name} param={param} value={picks[param.name]} set={(value) => setPicks({ ...picks, [param.name]: value })} />
      ))}
      {order.odds && (
        <div class="odds-slot">{odds ? <Chances odds={odds} /> : <p class="soft small">{trouble || t("odds.asking")}</p>}</div>
      )}
      <div class="row end sheet-foot">
        {odds?.parts?.[0] && (
          <span class="brief" aria-hidden="true">
            <b>{percent(odds.parts[0].p)}</b> {names.texts.word("odds", odds.parts[0].name) ?? odds.parts[0].text}
          </span>
        )}
        {lacks && <small class="soft">{names.param(lacks)}</small>}
        <Cost order={order} />
        <button type="button" class="plain" onClick={cancel}>
          {t("form.cancel")}
        </button>
        <button class="main" ref={main} disabled={!command || game.busy > 0}>
          {t("form.do")}
        </button>
      </div>
    </form>
  );
}

function ParamField({ param, value, set }: { param: Param; value: unknown; set(value: unknown): void }) {
  const { t, names } = useWords();
  const [broken, setBroken] = useState("");
  const label = names.param(param);
  if (param.choices) {
    if (param.choices.length > 12) {
      return (
        <label class="field">
          <span>{label}</span>
          <select
            value={param.choices.findIndex((each) => same(each.value, value))}
            onChange={(event) => set(param.choices![Number(event.currentTarget.value)]?.value)}
          >
            {param.optional && <option value={-1}>{t("form.none")}</option>}
            {param.choices.map((each, at) => (
              <option key={at} value={at}>
                {names.choice(param.name, each)}
              </option>
            ))}
          </select>
        </label>
      );
    }
    return (
      <fieldset class="field">
        <legend>{label}</legend>
        <div class="chips">
          {param.choices.map((each, at) => (
            <label key={at} class="chip">
              <input type="radio" name={param.name} checked={same(each.value, value)} onChange={() => set(each.value)} />
              <span>{names.choice(param.name, each)}</span>
            </label>
          ))}
          {param.choices.length === 0 && <span class="soft">{t("form.nothing")}</span>}
        </div>
      </fieldset>
    );
  }
  if (param.kind === "int") {
    return (
      <label class="field">
        <span>{label}</span>
        <input
          type="number"
          step={1}
          min={param.min ?? undefined}
          max={param.max ?? undefined}
          value={value === undefined ? "" : Number(value)}
          required={!param.optional}
          onInput={(event) => set(event.currentTarget.value === "" ? undefined : Math.trunc(Number(event.currentTarget.value)))}
        />
      </label>
    );
  }
  const json = param.kind === "json";
  return (
    <label class="field">
      <span>
        {label} {param.optional && <small class="soft">{t("form.optional")}</small>}
      </span>
      <input
        type="text"
        maxLength={json ? undefined : (param.max ?? undefined)}
        defaultValue={json ? (value === undefined ? "" : JSON.stringify(value)) : String(value ?? "")}
        required={!param.optional}
        aria-invalid={broken ? "true" : undefined}
        spellcheck={false}
        onInput={(event) => {
          const text = event.currentTarget.value;
          if (!json) return set(text);
          try {
            set(text.trim() ? JSON.parse(text) : undefined);
            setBroken("");
          } catch (error) {
            set(undefined);
            setBroken(t("form.json", { error: (error as Error).message }));
          }
        }}
      />
      {broken && <small class="trouble">{broken}</small>}
    </label>
  );
}
