/**
 * The parts of the zone map: a way, a zone, a token, and who is within reach of whom.
 */
import { initials } from "../model/card.js";
import { type Box, type Plan, type Way, border } from "../model/layout.js";
import { memo, useWords } from "./context.js";
import { COVER, type Entity, type State, type Zone } from "./map-kinds.js";

export function WayLine({ plan: { boxes }, way }: { plan: Plan; way: Way & { cost?: number; hidden?: boolean } }) {
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

export function ReachLine({ from, to }: { from: { x: number; y: number } | null; to: { x: number; y: number } | null }) {
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

export const ZoneBox = memo(({ zone, box, far, here, state, count, touch }: ZoneProps) => {
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

export const Token = memo((props: TokenProps) => {
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
