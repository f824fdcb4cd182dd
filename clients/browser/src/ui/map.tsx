/**
 * The zone map of one scene: zones and ways, who is where, cover, terrain, who is within reach of whom, and how far it is from whoever
 * acts. Zones and people can be touched, by hand or by keyboard.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Plan, type Way, distances, plan, ranks } from "../model/layout.js";
import { useWords } from "./context.js";
import { COVER, type Entity, type State, type Zone } from "./map-kinds.js";
import { ReachLine, Token, WayLine, ZoneBox } from "./map-parts.js";

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
  // People glide when they move, not when the map is laid out anew for another width.
  const drawn = useRef(0);
  const isStill = drawn.current !== width;
  useEffect(() => {
    drawn.current = width;
  }, [width]);
  const near = ((scene["near"] ?? []) as readonly (readonly [string, string])[]).filter(([a, b]) => people[a] && people[b]);

  return (
    <div class="map" ref={frame} onKeyDown={rove}>
      {made && (
        <svg
          class={isStill ? "still" : ""}
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
