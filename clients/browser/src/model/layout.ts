/**
 * Where the zones of a scene are drawn. A scene has no coordinates, only ways: zones stand in ranks by their distance from one end,
 * and within a rank next to those they lead to. The same scene is always drawn the same way.
 */
export interface Way {
  readonly a: string;
  readonly b: string;
}

export interface Box {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Plan {
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly across: boolean;
}

/** Steps from `from` to every zone that can be reached. */
export function distances(ways: readonly Way[], from: string): Map<string, number> {
  const next = new Map<string, string[]>();
  for (const { a, b } of ways) {
    next.set(a, [...(next.get(a) ?? []), b]);
    next.set(b, [...(next.get(b) ?? []), a]);
  }
  const found = new Map([[from, 0]]);
  const queue = [from];
  for (let zone = queue.shift(); zone !== undefined; zone = queue.shift()) {
    for (const other of next.get(zone) ?? []) {
      if (found.has(other)) continue;
      found.set(other, found.get(zone)! + 1);
      queue.push(other);
    }
  }
  return found;
}

/** Zones in ranks: each way joins zones of one rank or of neighbouring ones. Zones out of reach come in ranks of their own. */
export function ranks(zones: readonly string[], ways: readonly Way[]): string[][] {
  const left = new Set(zones);
  const all: string[][] = [];
  while (left.size) {
    const [first] = left;
    const island = [...distances(ways, first!).keys()].filter((id) => left.has(id));
    // One end of the island: the zone whose farthest one is farthest away, the first of them in the scene's order.
    const ends = zones.filter((id) => island.includes(id));
    const reach = new Map(ends.map((id) => [id, Math.max(...distances(ways, id).values())]));
    const far = Math.max(...reach.values());
    const away = distances(
      ways,
      ends.find((id) => reach.get(id) === far)!,
    );
    const made: string[][] = [];
    for (const id of ends) (made[away.get(id)!] ??= []).push(id);
    for (let at = 1; at < made.length; at++) {
      const before = made[at - 1]!;
      const pull = (id: string): number => {
        const near = ways.flatMap(({ a, b }) => (a === id ? [b] : b === id ? [a] : [])).filter((each) => before.includes(each));
        return near.length ? near.reduce((sum, each) => sum + before.indexOf(each) / before.length, 0) / near.length : 1;
      };
      const pulls = new Map(made[at]!.map((id) => [id, pull(id)]));
      made[at]!.sort((a, b) => pulls.get(a)! - pulls.get(b)!);
    }
    all.push(...made);
    for (const id of island) left.delete(id);
  }
  return all;
}

const GAP = 28;
const EDGE = 2;
const LEAST = 138;

/**
 * Boxes for a width in pixels: ranks side by side where they fit, else below one another. `heightOf(id, width)` says how high a
 * zone must be.
 */
export function plan(ranked: readonly (readonly string[])[], width: number, heightOf: (id: string, width: number) => number): Plan {
  const boxes = new Map<string, Box>();
  const count = Math.max(ranked.length, 1);
  const column = Math.floor((width - 2 * EDGE - GAP * (count - 1)) / count);
  if (column >= LEAST) {
    const heights = ranked.map((rank) => rank.reduce((sum, id) => sum + heightOf(id, column) + GAP, -GAP));
    const height = Math.max(...heights, 0);
    ranked.forEach((rank, at) => {
      let y = EDGE + (height - heights[at]!) / 2;
      // A rank that is less high than the highest shares out what is left, up to a half more for each.
      const stretch = Math.min((height - heights[at]!) / rank.length, 60);
      y -= (stretch * rank.length) / 2;
      for (const id of rank) {
        const high = heightOf(id, column) + stretch;
        boxes.set(id, { id, x: EDGE + at * (column + GAP), y, width: column, height: high });
        y += high + GAP;
      }
    });
    return { width, height: height + 2 * EDGE, boxes, across: true };
  }
  let y = EDGE;
  for (const rank of ranked) {
    const wide = Math.floor((width - 2 * EDGE - GAP * (rank.length - 1)) / rank.length);
    const high = Math.max(...rank.map((id) => heightOf(id, wide)));
    rank.forEach((id, at) => boxes.set(id, { id, x: EDGE + at * (wide + GAP), y, width: wide, height: high }));
    y += high + GAP;
  }
  return { width, height: Math.max(y - GAP, 0) + EDGE, boxes, across: false };
}

/** Where a line between the middles of two boxes leaves the first one. */
export function border(from: Box, to: Box): { x: number; y: number } {
  const x = from.x + from.width / 2;
  const y = from.y + from.height / 2;
  const dx = to.x + to.width / 2 - x;
  const dy = to.y + to.height / 2 - y;
  const by = Math.min(dx ? from.width / 2 / Math.abs(dx) : Infinity, dy ? from.height / 2 / Math.abs(dy) : Infinity);
  return Number.isFinite(by) ? { x: x + dx * by, y: y + dy * by } : { x, y };
}
