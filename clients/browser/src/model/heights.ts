/**
 * Which rows of a long list are in sight, when each has a height of its own that is known only once it was drawn.
 */
export class Heights {
  #known = new Map<string, number>();
  #keys: readonly string[] = [];
  #tops: Float64Array = new Float64Array(1);

  constructor(readonly guess: number) {}

  /** Take the keys of all rows, in order. */
  rows(keys: readonly string[]): void {
    this.#keys = keys;
    this.#sum();
  }

  /** Note what rows measure. Gives how many pixels everything before `anchor` has grown. */
  measured(found: ReadonlyMap<string, number>, anchor: number): number {
    let changed = false;
    for (const [key, height] of found) {
      if (this.#known.get(key) === height) continue;
      this.#known.set(key, height);
      changed = true;
    }
    if (!changed) return 0;
    const before = this.top(anchor);
    this.#sum();
    return this.top(anchor) - before;
  }

  /** Forget what was measured: the width or the language is another. */
  forget(): void {
    this.#known.clear();
    this.#sum();
  }

  get total(): number {
    return this.#tops[this.#keys.length]!;
  }

  /** Pixels before a row. */
  top(row: number): number {
    return this.#tops[Math.min(Math.max(row, 0), this.#keys.length)]!;
  }

  /** The row at a height in pixels, the nearest one when there is none. */
  at(y: number): number {
    let low = 0;
    let high = Math.max(this.#keys.length - 1, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #sum(): void {
    const tops = new Float64Array(this.#keys.length + 1);
    for (let at = 0; at < this.#keys.length; at++) tops[at + 1] = tops[at]! + (this.#known.get(this.#keys[at]!) ?? this.guess);
    this.#tops = tops;
  }
}
