/**
 * Exact chances ("13/400") as what people read: percentages that never say 0 or 100 of what may happen or fail.
 */
export interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** A chance `a/b`; null when it is none. */
export function fraction(text: unknown): Fraction | null {
  const [, over, under] = /^(\d+)\/(\d+)$/.exec(String(text)) ?? [];
  return over === undefined || BigInt(under!) === 0n ? null : { over: BigInt(over), under: BigInt(under!) };
}

/** From 0 to 1, for drawing. */
export function part(text: unknown): number {
  const found = fraction(text);
  return found ? Number((found.over * 1_000_000n) / found.under) / 1_000_000 : 0;
}

/** "42.5 %", rounded to a tenth; "< 0.1 %" and "> 99.9 %" instead of a wrong certainty; "" for what is no chance. */
export function percent(text: unknown): string {
  const found = fraction(text);
  if (!found) return "";
  const { over, under } = found;
  if (over === 0n) return "0 %";
  if (over === under) return "100 %";
  const tenths = (over * 2000n + under) / (under * 2n);
  if (tenths === 0n) return "< 0.1 %";
  if (tenths >= 1000n) return "> 99.9 %";
  return `${tenths / 10n}${tenths % 10n ? `.${tenths % 10n}` : ""} %`;
}

/** The mean of a distribution, to a tenth; "" when it has none. */
export function mean(damage: readonly { readonly value: number; readonly p: string }[]): string {
  let over = 0n;
  let under = 1n;
  for (const each of damage) {
    const p = fraction(each.p);
    if (!p) return "";
    over = over * p.under + BigInt(each.value) * p.over * under;
    under *= p.under;
  }
  return damage.length ? String(Math.round(Number((over * 1000n) / under) / 100) / 10) : "";
}
