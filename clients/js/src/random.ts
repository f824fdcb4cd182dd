/**
 * The pilot's chance: the Mersenne Twister as Python's `random.Random(seed)` uses it, so that a seed plays alike in both languages.
 * Not for dice (a client never rolls), and not for secrets.
 */

const N = 624;
const M = 397;

export class Random {
  readonly #state = new Uint32Array(N);
  #index = N;

  /** `seed`: a whole number; its sign does not matter. */
  constructor(seed: number) {
    if (!Number.isSafeInteger(seed)) throw new RangeError("a seed is a whole number within ±(2^53−1)");
    const whole = Math.abs(seed);
    const high = Math.floor(whole / 2 ** 32);
    this.#start(high ? [whole >>> 0, high] : [whole >>> 0]);
  }

  #start(key: readonly number[]): void {
    const mt = this.#state;
    mt[0] = 19650218;
    for (let i = 1; i < N; i++) mt[i] = Math.imul(1812433253, mixed(mt, i)) + i;
    let i = 1;
    for (let k = 0; k < N; k++) {
      const j = k % key.length;
      mt[i] = (mt[i]! ^ Math.imul(mixed(mt, i), 1664525)) + key[j]! + j;
      i = this.#after(i);
    }
    for (let k = 1; k < N; k++) {
      mt[i] = (mt[i]! ^ Math.imul(mixed(mt, i), 1566083941)) - i;
      i = this.#after(i);
    }
    mt[0] = 0x80000000;
  }

  #after(i: number): number {
    if (i + 1 < N) return i + 1;
    this.#state[0] = this.#state[N - 1]!;
    return 1;
  }

  #word(): number {
    const mt = this.#state;
    if (this.#index === N) {
      for (let k = 0; k < N; k++) {
        const y = (mt[k]! & 0x80000000) | (mt[(k + 1) % N]! & 0x7fffffff);
        mt[k] = mt[(k + M) % N]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      this.#index = 0;
    }
    let y = mt[this.#index++]!;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    y ^= y >>> 18;
    return y >>> 0;
  }

  /** From 0 (included) to 1 (left out), 53 bits. */
  random(): number {
    const high = this.#word() >>> 5;
    const low = this.#word() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  #bits(count: number): number {
    if (count <= 32) return this.#word() >>> (32 - count);
    const low = this.#word();
    return (this.#word() >>> (64 - count)) * 2 ** 32 + low;
  }

  #below(limit: number): number {
    const size = bitLength(limit);
    let drawn = this.#bits(size);
    while (drawn >= limit) drawn = this.#bits(size);
    return drawn;
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    if (!(high >= low)) throw new RangeError("an empty range");
    return low + this.#below(high - low + 1);
  }

  choice<T>(from: readonly T[]): T {
    if (!from.length) throw new RangeError("nothing to choose from");
    return from[this.#below(from.length)]!;
  }

  /** One of `from`, each as likely as its weight says. */
  weighted<T>(from: readonly T[], weights: readonly number[]): T {
    const sums: number[] = [];
    let total = 0;
    for (const weight of weights) sums.push((total += weight));
    const drawn = this.random() * total;
    const at = sums.findIndex((sum) => drawn < sum);
    return from[at < 0 ? from.length - 1 : at]!;
  }
}

function mixed(mt: Uint32Array, i: number): number {
  const before = mt[i - 1]!;
  return before ^ (before >>> 30);
}

function bitLength(value: number): number {
  return value < 2 ** 32 ? 32 - Math.clz32(value) : 32 + bitLength(Math.floor(value / 2 ** 32));
}
