/**
 * The log: what happened and what was said, back to the first entry. Only the rows in sight are in the page.
 */
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { rollsOf } from "../model/dice.js";
import { Heights } from "../model/heights.js";
import type { Entry } from "../model/logbook.js";
import { memo, useGame, useWords } from "./context.js";
import { RollLine } from "./dice.js";
import { Lock } from "./icons.js";

const GUESS = 46;
const MARGIN = 400;

interface Props {
  readonly rows: readonly Entry[];
  readonly whole: boolean;
  readonly loading: boolean;
}

const keyOf = (entry: Entry): string => `${entry.v} ${entry.stamp}`;

export function Log({ rows, whole, loading }: Props) {
  const { t, texts } = useWords();
  const game = useGame();
  const box = useRef<HTMLDivElement>(null);
  const state = useRef({
    heights: new Heights(GUESS),
    rows: [] as readonly Entry[],
    pinned: true,
    width: 0,
    language: texts.language.code,
  });
  const [, again] = useReducer((count: number) => count + 1, 0);
  const draw = (): void => again(undefined as never);
  const s = state.current;
  const element = box.current;

  let shift = 0;
  if (s.language !== texts.language.code) {
    s.language = texts.language.code;
    s.heights.forget();
  }
  if (s.rows !== rows) {
    // Older rows push what is in sight down; the eye must stay where it was.
    const first = s.rows[0];
    s.heights.rows(rows.map(keyOf));
    const grown = first ? rows.findIndex((each) => each.v === first.v) : 0;
    if (grown > 0) shift = s.heights.top(grown);
    s.rows = rows;
  }
  const view = element?.clientHeight ?? 600;
  const top = (s.pinned ? Math.max(0, s.heights.total - view) : (element?.scrollTop ?? 0)) + (s.pinned ? 0 : shift);
  const from = s.heights.at(top - MARGIN);
  const to = Math.min(rows.length, s.heights.at(top + view + MARGIN) + 1);

  useLayoutEffect(() => {
    const list = box.current!;
    if (shift && !s.pinned) list.scrollTop += shift;
    const found = new Map<string, number>();
    for (const row of list.querySelectorAll<HTMLElement>("[data-row]")) found.set(row.dataset["row"]!, row.offsetHeight);
    const before = s.heights.total;
    const grown = s.heights.measured(found, s.heights.at(list.scrollTop));
    if (grown && !s.pinned) list.scrollTop += grown;
    if (s.heights.total !== before) draw();
    else if (s.pinned) list.scrollTop = list.scrollHeight;
  });

  useEffect(() => {
    const list = box.current!;
    const watch = new ResizeObserver(() => {
      if (s.width !== list.clientWidth) s.heights.forget();
      s.width = list.clientWidth;
      draw();
    });
    watch.observe(list);
    return () => watch.disconnect();
  }, []);

  const scrolled = (): void => {
    const list = box.current!;
    if (list.clientHeight === 0) return;
    s.pinned = list.scrollTop + list.clientHeight >= list.scrollHeight - 24;
    if (list.scrollTop < 1500 && !whole && !loading) void game.older();
    draw();
  };
  useEffect(() => {
    // A short log leaves nothing to scroll, so ask for more until it fills the box.
    const list = box.current!;
    if (list.clientHeight && s.heights.total < list.clientHeight * 2 && !whole && !loading) void game.older();
  }, [rows, whole, loading]);

  return (
    <div class="log-frame">
      <div class="log" ref={box} onScroll={scrolled} tabIndex={0} role="feed" aria-label={t("panel.log")} aria-busy={loading}>
        <div class="log-inside" style={{ height: `${s.heights.total}px` }}>
          {rows.slice(from, to).map((entry, at) => (
            <Row
              key={keyOf(entry)}
              id={keyOf(entry)}
              entry={entry}
              y={s.heights.top(from + at)}
              place={whole ? from + at + 1 : 0}
              size={whole ? rows.length : -1}
            />
          ))}
        </div>
        {rows.length === 0 && <p class="empty">{loading ? t("log.loading") : t("log.none")}</p>}
      </div>
      {loading && rows.length > 0 && <p class="log-note">{t("log.loading")}</p>}
      {!s.pinned && (
        <button
          class="log-now"
          onClick={() => {
            s.pinned = true;
            draw();
          }}
        >
          {t("log.now")}
        </button>
      )}
    </div>
  );
}

const LOUD = new Set(["turn.started", "round.started", "encounter.started", "encounter.ended"]);
const QUIET = new Set(["dice.opened", "dice.revealed", "dice.dropped", "seat.held", "dice.salted"]);

interface RowProps {
  readonly id: string;
  readonly entry: Entry;
  readonly y: number;
  readonly place: number;
  readonly size: number;
}

const Row = memo(({ id, entry, y, place, size }: RowProps) => {
  const { texts } = useWords();
  const time = entry.at
    ? new Date(entry.at).toLocaleTimeString(texts.language.code, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
    : "";
  return (
    <article
      class="entry"
      data-row={id}
      data-v={entry.v}
      style={{ transform: `translateY(${y}px)` }}
      aria-posinset={place || undefined}
      aria-setsize={size}
    >
      <small class="entry-when" title={entry.at ? new Date(entry.at).toLocaleString(texts.language.code) : undefined}>
        {time} <span>#{entry.v}</span>
      </small>
      <div class="entry-body">
        {(entry.events ?? []).map((event, at) => (
          <Event key={at} event={event} />
        ))}
      </div>
    </article>
  );
});

function Event({ event }: { event: { readonly [field: string]: unknown } }) {
  const { names } = useWords();
  if ("body" in event || event["erased"]) return <Said event={event} />;
  const type = String(event["type"] ?? "");
  const rolls = rollsOf(event);
  return (
    <div class={`event ${LOUD.has(type) ? "loud" : QUIET.has(type) ? "quiet" : ""}`} data-type={type}>
      <p>{names.message("event", event)}</p>
      {rolls.length > 0 && (
        <p class="rolls">
          {rolls.map((roll, at) => (
            <RollLine key={at} roll={roll} />
          ))}
          <Facts event={event} />
        </p>
      )}
    </div>
  );
}

const PLAIN = new Set("type text body body_id sha256 private erased rolls faces sides stream index n of".split(" "));

/** What dice came to: the event's plain numbers and yes-or-nos by name. */
function Facts({ event }: { event: { readonly [field: string]: unknown } }) {
  const { texts } = useWords();
  return (
    <>
      {Object.entries(event).map(([field, value]) => {
        if (PLAIN.has(field)) return null;
        if (value === true) {
          return (
            <span key={field} class="tag mark">
              {texts.field(field)}
            </span>
          );
        }
        return typeof value === "number" ? (
          <span key={field} class="tag">
            {texts.field(field)} <b>{value}</b>
          </span>
        ) : null;
      })}
    </>
  );
}

function Said({ event }: { event: { readonly [field: string]: unknown } }) {
  const { t, names } = useWords();
  const speaker = String(event["name"] || names.seat(String(event["by"] ?? "")));
  const to = Array.isArray(event["to"]) ? event["to"].map((seat) => names.seat(String(seat))).join(t("list.comma")) : "";
  return (
    <div class={`said ${event["type"] === "post" ? "post" : ""} ${event["private"] ? "private" : ""}`} data-type={String(event["type"])}>
      <p>
        <b>{speaker}</b>
        {event["private"] ? (
          <span class="tag">
            <Lock /> {t("talk.private")}
            {to && `: ${to}`}
          </span>
        ) : null}
      </p>
      {event["body"] === null || event["body"] === undefined ? (
        <p class="soft">{t("talk.erased")}</p>
      ) : (
        <p class="words">{String(event["body"])}</p>
      )}
    </div>
  );
}
