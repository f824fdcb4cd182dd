/**
 * The table: everything a seat sees, put together. Keys: 1 to 9 take an order, Esc gives up, and letters go to the parts.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Game } from "../game.js";
import { sides as sidesOf } from "../model/card.js";
import { type Order, type Picks, keyOf, namedBy, proposals, touched } from "../model/orders.js";
import type { Looks } from "./app.js";
import { Cards } from "./cards.js";
import { useChanges, useWords } from "./context.js";
import { DiceCheck } from "./dice-check.js";
import { GmPanel } from "./gm.js";
import { Head } from "./head.js";
import { Book, Cross, MapIcon, People, Tools } from "./icons.js";
import { Log } from "./log.js";
import { ZoneMap } from "./map.js";
import { OrderList, OrderSheet } from "./orders.js";
import { Prompts } from "./prompts.js";
import { Talk } from "./talk.js";
import { Turns } from "./turns.js";

type Entity = { readonly [field: string]: any };
type Tab = "play" | "who" | "log" | "gm";

const NONE: { readonly [id: string]: Entity } = {};
const FOCUS: { readonly [key: string]: string } = {
  m: ".map [data-rove]",
  o: ".order",
  l: ".log",
  t: ".talk textarea",
  c: ".card-head",
  g: "[data-tool]",
};

export function TablePage({ game, looks, leave }: { game: Game; looks: Looks; leave(why: string): void }) {
  const { t, names } = useWords();
  useChanges(game);
  const table = game.table;
  const view = table?.view;
  const [tab, setTab] = useState<Tab>("play");
  const [sceneId, setScene] = useState("");
  const [picked, setPicked] = useState<{ order: Order; picks: Picks } | null>(null);
  const [about, setAbout] = useState("");
  const [isChecking, setChecking] = useState(false);
  if (view) names.look(view as never);

  const people = view?.["combatants"] ?? NONE;
  const fights = Object.values(view?.["encounters"] ?? NONE);
  const scenes = view?.["scenes"] ?? NONE;
  const mine = game.mine;
  const sides = useMemo(() => sidesOf(people), [people]);
  const fight = fights.find((each) => each["scene"] === sceneId) ?? fights[0];
  const shown =
    scenes[sceneId] ?? scenes[String(fight?.["scene"])] ?? scenes[String(people[mine[0] ?? ""]?.["scene"])] ?? Object.values(scenes)[0];
  const current = String(fights.find((each) => each["scene"] === shown?.["id"])?.["current"] ?? "");
  const own = table?.promptsOpen ?? [];
  const others = Object.entries(view?.["prompts"] ?? NONE)
    .filter(([id, each]) => !each["answered"] && !own.some((one) => one.id === id))
    .map(([id, each]) => ({ ...each, id }));
  const yourTurn = own.length > 0 || fights.some((each) => mine.includes(String(each["current"])));
  const name = String(view?.["table"]?.["table"]?.["name"] || "Dustup");

  // An order stays open while it is offered; its choices follow what is offered now.
  const offered = picked && game.options.find((each) => keyOf(each) === keyOf(picked.order));
  const isTool = picked !== null && !offered && (picked.order.type.startsWith("gm.") || picked.order.type === "raw");
  const order = offered ?? (isTool ? picked.order : null);
  const picks = order && picked ? proposals(order, picked.picks) : {};
  const wanted = useMemo(() => (order ? namedBy(order) : null), [order]);
  const chosen = useMemo(() => {
    const found = new Set<string>(about ? [about] : []);
    for (const value of Object.values(picks).flat()) if (typeof value === "string") found.add(value);
    return found;
  }, [JSON.stringify(picks), about]);

  useEffect(() => {
    document.title = (yourTurn ? `● ${t("head.your_move")} ` : "") + name;
  }, [yourTurn, name, looks.language]);

  // A GM has tools for the table in a place of their own; the two that are wanted in a hurry stay at hand.
  const offers = game.isGm
    ? game.options.filter(({ type }) => !type.startsWith("gm.") || type === "gm.undo" || type === "gm.pause")
    : game.options;
  const pick = (next: Order): void => {
    if (!next.params?.length && !next.odds && next.group !== "table" && !next.type.startsWith("gm.")) {
      setPicked(null);
      setAbout("");
      void game.do(next.command as { type: string }, game.optionsAt);
      return;
    }
    // What was touched before is the first proposal.
    const first = proposals(next);
    setPicked({ order: next, picks: (about && touched(next, first, about)) || first });
    setTab("play");
  };
  const give = (command: { type: string }): void => {
    const at = isTool ? undefined : game.optionsAt;
    void game.do(command, at).then((done) => {
      if (!done) return;
      setPicked(null);
      setAbout("");
    });
  };
  const latest = useRef({ order, picks });
  latest.current = { order, picks };
  // The same function for ever, so that tokens and zones need not be drawn anew for it.
  const [touch] = useState(() => (id: string) => {
    const { order: now, picks: taken } = latest.current;
    const next = now && touched(now, taken, id);
    if (next) setPicked({ order: now, picks: next });
    else setAbout((before) => (before === id ? "" : id));
  });
  const [choose] = useState(() => (id: string) => {
    touch(id);
    setTab("play");
  });

  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
        setPicked(null);
        setAbout("");
      }
      const isTyping = target.matches("input:not([type=radio]):not([type=checkbox]), textarea, select");
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const wantedSelector = /^[1-9]$/.test(event.key) ? `.order[data-number="${event.key}"]` : FOCUS[event.key];
      const found = wantedSelector ? document.querySelector<HTMLElement>(wantedSelector) : null;
      if (!found) return;
      event.preventDefault();
      if (/^[1-9]$/.test(event.key)) found.click();
      else {
        if (event.key === "l" || event.key === "t") setTab("log");
        if (event.key === "m" || event.key === "o") setTab("play");
        if (event.key === "c") setTab("who");
        if (event.key === "g") setTab("gm");
        requestAnimationFrame(() => found.focus());
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  useEffect(() => {
    // One stop for Tab in the map: the first, or where the person was.
    const stops = document.querySelectorAll(".map [data-rove]");
    if (stops.length && ![...stops].some((each) => each.getAttribute("tabindex") === "0")) stops[0]!.setAttribute("tabindex", "0");
  });

  if (!table || !view) {
    return (
      <div class="waiting-page">
        <p role="status">{game.link.is === "waiting" ? game.link.trouble : t("head.joining")}</p>
        <button class="plain" onClick={() => leave("")}>
          {t("head.leave")}
        </button>
      </div>
    );
  }
  const paused = Boolean(view["table"]?.["table"]?.["paused"]);
  const pools = Object.entries(view["pools"] ?? NONE);
  const voices = game.isGm ? Object.keys(people) : mine;
  const tabs = (["play", "who", "log", ...(game.isGm ? (["gm"] as const) : [])] as const).map((each) => [each, TAB_ICONS[each]] as const);
  return (
    <div class={game.isGm ? "table for-gm" : "table"} data-tab={tab}>
      <a class="skip" href="#orders" onClick={(event) => (event.preventDefault(), document.querySelector<HTMLElement>(".order")?.focus())}>
        {t("head.skip")}
      </a>
      <Head game={game} name={name} view={view} looks={looks} check={() => setChecking(true)} leave={() => leave("")} />
      <Turns fight={fight} people={people} mine={mine} sides={sides} />
      <main class="boards">
        <section class="board map-board" aria-label={t("panel.map")}>
          <div class="board-head">
            <h2>{shown ? String(shown["name"] || shown["id"]) : t("panel.map")}</h2>
            {Object.keys(scenes).length > 1 && (
              <select aria-label={t("map.scene")} value={String(shown?.["id"])} onChange={(event) => setScene(event.currentTarget.value)}>
                {Object.entries(scenes).map(([id, each]) => (
                  <option key={id} value={id}>
                    {String(each["name"] || id)}
                  </option>
                ))}
              </select>
            )}
            <span class="pools">
              {pools.map(([id, pool]) => (
                <span key={id} class="pool" data-pool={id}>
                  {names.pool(id)} <b>{pool["value"] ?? "?"}</b>
                  {pool["cap"] ? `/${pool["cap"]}` : ""}
                </span>
              ))}
            </span>
          </div>
          {shown ? (
            <ZoneMap
              scene={shown}
              people={people}
              sides={sides}
              mine={mine}
              current={current}
              wanted={wanted}
              chosen={chosen}
              touch={touch}
            />
          ) : (
            <p class="empty">{game.isGm ? t("map.none_gm") : t("map.none")}</p>
          )}
        </section>
        <section class="board order-board" aria-label={t("panel.choices")} id="orders">
          <p class="refusal" role="alert">
            {game.trouble && (
              <span class="notice bad">
                {game.trouble}
                <button class="plain icon-only" aria-label={t("form.close")} onClick={() => ((game.trouble = ""), game.changed())}>
                  <Cross />
                </button>
              </span>
            )}
          </p>
          {paused && <p class="notice">{t("head.paused")}</p>}
          <Prompts own={own} others={others} />
          <div class={order ? "order-area open" : "order-area"}>
            <OrderList orders={offers} picked={picked ? keyOf(picked.order) : ""} about={about} forget={() => setAbout("")} pick={pick} />
            {order && (
              <OrderSheet
                order={order}
                picks={picks}
                at={game.optionsAt}
                setPicks={(next) => setPicked({ order, picks: next })}
                give={give}
                cancel={() => setPicked(null)}
              />
            )}
          </div>
        </section>
        <section class="board who-board" aria-label={t("panel.cards")}>
          <div class="board-head">
            <h2>{t("panel.cards")}</h2>
          </div>
          <Cards
            people={people}
            mine={mine}
            current={useMemo(() => new Set(fights.map((each) => String(each["current"]))), [view["encounters"]])}
            chosen={about}
            choose={choose}
          />
        </section>
        {game.isGm && (
          <section class="board gm-board" aria-label={t("panel.gm")}>
            <div class="board-head">
              <h2>{t("panel.gm")}</h2>
            </div>
            <GmPanel view={view} presence={table.presence} picked={picked ? keyOf(picked.order) : ""} pick={pick} />
          </section>
        )}
        <section class="board log-board" aria-label={t("panel.log")}>
          <div class="board-head">
            <h2>{t("panel.log")}</h2>
          </div>
          <Log rows={game.log.rows} whole={game.log.whole} loading={game.loadingOlder} />
          <Talk seats={view["seats"] ?? NONE} voices={voices} />
        </section>
      </main>
      <nav class="tab-bar" aria-label={t("head.parts")}>
        {tabs.map(([each, Icon]) => (
          <button key={each} aria-current={tab === each ? "page" : undefined} onClick={() => setTab(each)}>
            <Icon />
            {t(`tab.${each}`)}
            {each === "play" && yourTurn && tab !== "play" && <span class="badge" aria-label={t("head.your_move")} />}
          </button>
        ))}
      </nav>
      <Heard game={game} yourTurn={yourTurn} />
      {isChecking && <DiceCheck close={() => setChecking(false)} />}
    </div>
  );
}

const TAB_ICONS = { play: MapIcon, who: People, log: Book, gm: Tools };

/** For ears: what has just happened, one polite sentence after the other. */
function Heard({ game, yourTurn }: { game: Game; yourTurn: boolean }) {
  const { t, names } = useWords();
  const said = game.heard.slice(-4).map((event) => {
    const body = event["body"];
    return typeof body === "string" ? `${event["name"] || names.seat(String(event["by"] ?? ""))}: ${body}` : names.message("event", event);
  });
  return (
    <>
      <p class="unseen" role="log" aria-live="polite">
        {said.join(" ")}
      </p>
      <p class="unseen" aria-live="assertive">
        {yourTurn ? t("head.your_move") : ""}
      </p>
    </>
  );
}
