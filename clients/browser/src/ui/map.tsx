/**
 * The zone map of one scene: zones and ways, who is where, cover, terrain, who is within reach of whom, and how far it is from whoever
 * acts. Zones and people can be touched, by hand or by keyboard.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { initials } from "../model/card.js";
import { type Box, type Plan, type Way, border, distances, plan, ranks } from "../model/layout.js";
import { memo, useWords } from "./context.js";

type Entity = { readonly [field: string]: any };
export interface Zone {
  readonly id: string;
  readonly name: string;
  readonly covers?: readonly { readonly id: string; readonly name: string }[];
  readonly cost?: number;
  readonly tags?: readonly string[];
  readonly hidden?: boolean;
}

interface Props {
  readonly scene: Entity;
  readonly people: { readonly [id: string]: Entity };
  readonly sides: readonly string[];
  readonly mine: readonly string[];
  /** Whose turn it is here; "" nobody's. */
  readonly current: string;
  /** Ids that may be touched for the order that is being given; null when none is. */
  readonly wanted: ReadonlySet<string> | null;
  /** Ids that are chosen. */
  readonly chosen: ReadonlySet<string>;
  touch(id: string): void;
}

const TOKEN = 80;
const ROW = 66;
const HEAD = 46;
const COVER = 20;

export function ZoneMap(props: Props) {
  const { scene, people, touch } = props;
  const { t, names } = useWords();
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [over, setOver] = useState("");
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watch.observe(frame.current!);
    return () => watch.disconnect();
  }, []);

  const zones = (scene["zones"] ?? []) as readonly Zone[];
  const ways = ((scene["edges"] ?? []) as readonly (Way & { cost?: number; hidden?: boolean })[]).filter(({ a, b }) => a !== b);
  const ranked = useMemo(
    () =>
      ranks(
        zones.map(({ id }) => id),
        ways,
      ),
    [scene["zones"], scene["edges"]],
  );
  const there = new Map<string, string[]>(zones.map(({ id }) => [id, []]));
  const lost: string[] = [];
  for (const [id, each] of Object.entries(people)) {
    if (each["scene"] === scene["id"]) (there.get(String(each["zone"])) ?? lost).push(id);
  }
  const made = useMemo(() => {
    const heightOf = (id: string, wide: number): number => {
      const rows = Math.ceil((there.get(id)?.length ?? 0) / Math.max(1, Math.floor((wide - 12) / TOKEN)));
      const covers = zones.find((zone) => zone.id === id)?.covers?.length ?? 0;
      return HEAD + Math.max(rows, 1) * ROW + covers * COVER + 8;
    };
    return width ? plan(ranked, width, heightOf) : null;
  }, [ranked, width, zones.map(({ id }) => there.get(id)!.length).join()]);

  const from = people[over]?.["scene"] === scene["id"] ? over : props.current;
  const here = String(people[from]?.["zone"] ?? "");
  const away = useMemo(() => (here ? distances(ways, here) : new Map<string, number>()), [here, scene["edges"]]);
  const blind = ((scene["blind"] ?? []) as readonly (readonly [string, string])[]).flatMap(([a, b]) =>
    a === here ? [b] : b === here ? [a] : [],
  );
  const far = (id: string): string => {
    if (!here) return "";
    const words = id === here ? [t("map.here")] : [away.has(id) ? t("map.far", { n: away.get(id)! }) : t("map.no_way")];
    if (blind.includes(id)) words.push(t("map.unseen"));
    return words.join(t("list.dot"));
  };
  const near = ((scene["near"] ?? []) as readonly (readonly [string, string])[]).filter(([a, b]) => people[a] && people[b]);

  return (
    <div class="map" ref={frame} onKeyDown={rove}>
      {made && (
        <svg
          width={made.width}
          height={made.height}
          viewBox={`0 0 ${made.width} ${made.height}`}
          role="group"
          aria-label={String(scene["name"])}
        >
          {ways.map((way) => (
            <WayLine key={`${way.a} ${way.b}`} plan={made} way={way} />
          ))}
          {zones.map((zone) => (
            <ZoneBox
              key={zone.id}
              zone={zone}
              box={made.boxes.get(zone.id)!}
              far={far(zone.id)}
              here={zone.id === here}
              state={stateOf(zone.id, props)}
              touch={touch}
              count={there.get(zone.id)!.length}
            />
          ))}
          {near.map(([a, b]) => (
            <ReachLine key={`${a} ${b}`} from={spot(a, people, there, made)} to={spot(b, people, there, made)} />
          ))}
          {zones.flatMap((zone) =>
            there.get(zone.id)!.map((id) => {
              const at = spot(id, people, there, made)!;
              const each = people[id]!;
              return (
                <Token
                  key={id}
                  id={id}
                  entity={each}
                  x={at.x}
                  y={at.y}
                  name={names.combatant(id)}
                  cover={zone.covers?.find((cover) => cover.id === each["cover"])?.name ?? ""}
                  place={zone.name}
                  hue={props.sides.indexOf(String(each["side"] ?? "")) % 5}
                  isMine={props.mine.includes(id)}
                  isCurrent={id === props.current}
                  state={stateOf(id, props)}
                  touch={touch}
                  hover={setOver}
                  words={names.texts}
                />
              );
            }),
          )}
        </svg>
      )}
      <p class="map-note soft small">
        {here ? t("map.from", { who: names.combatant(from) }) : "\u00a0"}
        {lost.length > 0 && ` ${t("map.elsewhere")} ${lost.map((id) => names.combatant(id)).join(t("list.comma"))}`}
      </p>
    </div>
  );
}

type State = "" | "wanted" | "chosen" | "other";

function stateOf(id: string, { wanted, chosen }: Props): State {
  return chosen.has(id) ? "chosen" : wanted?.has(id) ? "wanted" : wanted ? "other" : "";
}

function spot(
  id: string,
  people: Props["people"],
  there: ReadonlyMap<string, readonly string[]>,
  made: Plan,
): { x: number; y: number } | null {
  const zone = String(people[id]?.["zone"]);
  const box = made.boxes.get(zone);
  const at = there.get(zone)?.indexOf(id) ?? -1;
  if (!box || at < 0) return null;
  const columns = Math.max(1, Math.floor((box.width - 12) / TOKEN));
  const count = Math.min(there.get(zone)!.length, columns);
  const left = box.x + (box.width - count * TOKEN) / 2;
  return { x: left + (at % columns) * TOKEN + TOKEN / 2, y: box.y + HEAD + Math.floor(at / columns) * ROW + 22 };
}

function WayLine({ plan: { boxes }, way }: { plan: Plan; way: Way & { cost?: number; hidden?: boolean } }) {
  const a = boxes.get(way.a);
  const b = boxes.get(way.b);
  if (!a || !b) return null;
  const from = border(a, b);
  const to = border(b, a);
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  return (
    <g class={way.hidden ? "way hidden" : "way"}>
      <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
      {way.cost ? (
        <g class="toll">
          <circle cx={middle.x} cy={middle.y} r="10" />
          <text x={middle.x} y={middle.y + 4} text-anchor="middle">
            +{way.cost}
          </text>
        </g>
      ) : null}
    </g>
  );
}

function ReachLine({ from, to }: { from: { x: number; y: number } | null; to: { x: number; y: number } | null }) {
  if (!from || !to) return null;
  // Bowed, so that it passes beside names, and beside whoever stands in the middle.
  const bow = Math.abs(from.x - to.x) < 4 ? { x: 52, y: 0 } : Math.abs(from.y - to.y) < 4 ? { x: 0, y: -34 } : { x: 0, y: 0 };
  const middle = { x: (from.x + to.x) / 2 + bow.x, y: (from.y + to.y) / 2 + bow.y };
  return <path class="reach" d={`M${from.x} ${from.y}Q${middle.x} ${middle.y} ${to.x} ${to.y}`} />;
}

const press =
  (act: () => void) =>
  (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };

interface ZoneProps {
  readonly zone: Zone;
  readonly box: Box;
  readonly far: string;
  readonly here: boolean;
  readonly state: State;
  readonly count: number;
  touch(id: string): void;
}

const ZoneBox = memo(({ zone, box, far, here, state, count, touch }: ZoneProps) => {
  const { t, names } = useWords();
  const notes = [
    ...(zone.cost ? [t("map.cost", { n: zone.cost })] : []),
    ...(zone.tags ?? []).map((tag) => names.texts.word("value", tag) ?? tag.replaceAll("_", " ")),
    ...(zone.hidden ? [t("card.hidden")] : []),
  ];
  const label = [
    zone.name,
    far,
    ...notes,
    ...(zone.covers ?? []).map(({ name }) => t("map.cover", { what: name })),
    t("map.people", { n: count }),
  ];
  const room = Math.floor(box.width / 7.6);
  return (
    <g class={`zone ${state} ${here ? "here" : ""} ${zone.hidden ? "hidden" : ""}`} data-zone={zone.id}>
      <rect
        x={box.x}
        y={box.y}
        width={box.width}
        height={box.height}
        rx="12"
        role="button"
        tabIndex={-1}
        data-rove
        aria-label={label.filter(Boolean).join(", ")}
        aria-pressed={state === "chosen"}
        onClick={() => touch(zone.id)}
        onKeyDown={press(() => touch(zone.id))}
      />
      <text aria-hidden="true" class="zone-name" x={box.x + 12} y={box.y + 21}>
        {cut(zone.name, room)}
      </text>
      <text aria-hidden="true" class="zone-far" x={box.x + 12} y={box.y + 37}>
        {cut([far, ...notes].filter(Boolean).join(t("list.dot")), Math.floor(box.width / 6.2))}
      </text>
      {(zone.covers ?? []).map((cover, at, all) => (
        <g
          key={cover.id}
          aria-hidden="true"
          class="cover"
          transform={`translate(${box.x + 12} ${box.y + box.height - 12 - (all.length - 1 - at) * COVER})`}
        >
          <path d="M5 -10 10 -8V-4c0 3-2 5-5 6-3-1-5-3-5-6v-4Z" />
          <text x="16" y="0">
            {cut(cover.name, room - 3)}
          </text>
        </g>
      ))}
    </g>
  );
});

interface TokenProps {
  readonly id: string;
  readonly entity: Entity;
  readonly x: number;
  readonly y: number;
  readonly name: string;
  readonly cover: string;
  readonly place: string;
  readonly hue: number;
  readonly isMine: boolean;
  readonly isCurrent: boolean;
  readonly state: State;
  readonly words: unknown;
  touch(id: string): void;
  hover(id: string): void;
}

const R = 18;
const AROUND = 2 * Math.PI * (R + 3);

const Token = memo((props: TokenProps) => {
  const { t } = useWords();
  const { id, entity, x, y, name, cover, isMine, isCurrent, state } = props;
  const health = firstBar(entity);
  const label = [
    name,
    props.place,
    ...(isMine ? [t("card.yours")] : []),
    ...(isCurrent ? [t("turns.now")] : []),
    ...(entity["out"] ? [t("card.out")] : []),
    ...(entity["hidden"] ? [t("card.hidden")] : []),
    ...(cover ? [t("map.cover", { what: cover })] : []),
    ...(health ? [`${health.value}/${health.most}`] : []),
  ];
  const classes = [
    "token",
    `side${props.hue}`,
    state,
    isMine && "mine",
    isCurrent && "current",
    entity["out"] && "out",
    entity["hidden"] && "hidden",
  ];
  return (
    <g class={classes.filter(Boolean).join(" ")} data-combatant={id} transform={`translate(${x} ${y})`}>
      <circle class="halo" r={R + 7} />
      <circle class="disc" r={R} />
      {health && (
        <>
          <circle class="ring" r={R + 3} />
          <circle
            class={`ring life ${level(health.value / health.most)}`}
            r={R + 3}
            stroke-dasharray={`${(AROUND * Math.max(0, Math.min(1, health.value / health.most))).toFixed(1)} ${AROUND.toFixed(1)}`}
            transform="rotate(-90)"
          />
        </>
      )}
      <text aria-hidden="true" class="letters" y="5" text-anchor="middle">
        {initials(name)}
      </text>
      {entity["out"] && <path class="cross" d="M-11 -11 11 11M11 -11 -11 11" />}
      {cover !== "" && (
        <g class="behind" transform="translate(13 -13)">
          <circle r="8" />
          <path d="M0 -5 4 -3.500V0c0 2.500-1.600 4-4 5-2.400-1-4-2.500-4-5v-3.500Z" />
        </g>
      )}
      <text aria-hidden="true" class="token-name" y={R + 17} text-anchor="middle">
        {short(name, 12)}
      </text>
      <circle
        class="hit"
        r={R + 7}
        role="button"
        tabIndex={-1}
        data-rove
        aria-label={label.join(", ")}
        aria-pressed={state === "chosen"}
        onClick={() => props.touch(id)}
        onKeyDown={press(() => props.touch(id))}
        onMouseEnter={() => props.hover(id)}
        onMouseLeave={() => props.hover("")}
        onFocus={() => props.hover(id)}
        onBlur={() => props.hover("")}
      />
    </g>
  );
});

/** The first `x` with a `max_x` stands around the token. */
function firstBar(entity: Entity): { value: number; most: number } | null {
  for (const [field, value] of Object.entries(entity)) {
    const most = entity[`max_${field}`];
    if (typeof value === "number" && typeof most === "number" && most > 0) return { value, most };
  }
  return null;
}

export function level(share: number): string {
  return share > 0.6 ? "well" : share > 0.3 ? "hurt" : "low";
}

/** Cut a text that would not fit; wide letters count twice. */
export function cut(text: string, room: number): string {
  let used = 0;
  let at = 0;
  const letters = [...text];
  for (; at < letters.length; at++) {
    used += letters[at]! > "\u2e7f" ? 2 : 1;
    if (used > room) break;
  }
  return at === letters.length
    ? text
    : `${letters
        .slice(0, Math.max(at - 1, 1))
        .join("")
        .trimEnd()}…`;
}

/** A name cut so that what tells namesakes apart stays. */
export function short(name: string, room: number): string {
  const [, base, mark] = /^(.*?)( ·\d+)?$/.exec(name)!;
  return cut(base!, room - (mark?.length ?? 0)) + (mark ?? "");
}

/** One stop for Tab; arrows go from one to the next. */
function rove(event: KeyboardEvent): void {
  const frame = event.currentTarget as HTMLElement;
  const stops = [...frame.querySelectorAll<SVGElement>("[data-rove]")];
  const at = stops.indexOf(document.activeElement as unknown as SVGElement);
  const next =
    event.key === "ArrowRight" || event.key === "ArrowDown"
      ? stops[(at + 1) % stops.length]
      : event.key === "ArrowLeft" || event.key === "ArrowUp"
        ? stops[(at - 1 + stops.length) % stops.length]
        : event.key === "Home"
          ? stops[0]
          : event.key === "End"
            ? stops.at(-1)
            : undefined;
  if (!next || at < 0) return;
  event.preventDefault();
  next.focus();
}
