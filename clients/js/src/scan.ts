/**
 * A look at msgpack bytes before they are decoded: nothing but what the protocol carries gets further.
 *
 * Afterwards it could not be told any more: a JavaScript number does not say whether it came as a float, and a decoder puts
 * replacement characters where a text was no UTF-8.
 */
import { BadMessage } from "./errors.js";

const UTF8 = new TextDecoder("utf-8", { fatal: true });

class Reader {
  at = 0;
  readonly #view: DataView;

  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** A big-endian unsigned int of 1, 2 or 4 bytes. */
  uint(size: 1 | 2 | 4): number {
    this.skip(size);
    const start = this.at - size;
    return size === 1 ? this.#view.getUint8(start) : size === 2 ? this.#view.getUint16(start) : this.#view.getUint32(start);
  }

  skip(count: number): void {
    if (this.bytes.length - this.at < count) throw new BadMessage("not a message: it is cut off");
    this.at += count;
  }

  /** An int of 8 bytes: most do not fit. */
  long(signed: boolean): void {
    const high = this.uint(4);
    const value = (signed ? high | 0 : high) * 2 ** 32 + this.uint(4);
    if (!Number.isSafeInteger(value)) throw new BadMessage("not a message: whole numbers lie within ±(2^53−1)");
  }

  text(length: number): void {
    const start = this.at;
    this.skip(length);
    for (let at = start; at < this.at; at++) {
      if (this.bytes[at]! < 0x80) continue;
      try {
        UTF8.decode(this.bytes.subarray(at, this.at));
      } catch {
        throw new BadMessage("not a message: a text is not UTF-8");
      }
      return;
    }
  }

  /** Read one value's head and, unless it is a map or a list, the value. How many values it holds within; -1 for a lone value. */
  value(asKey: boolean): number {
    const head = this.uint(1);
    if ((head & 0xe0) === 0xa0) this.text(head & 0x1f);
    else if (head >= 0xd9 && head <= 0xdb) this.text(this.uint(LENGTH_SIZE[head - 0xd9]!));
    else if (asKey) throw new BadMessage("not a message: map keys are text");
    else if (head < 0x80 || head >= 0xe0) return -1;
    else if (head === 0xc0 || head === 0xc2 || head === 0xc3) return -1;
    else if (head === 0xcf || head === 0xd3) this.long(head === 0xd3);
    else if (head >= 0xcc && head <= 0xd2) this.skip(1 << ((head - 0xcc) & 3));
    else if ((head & 0xf0) === 0x80) return (head & 0x0f) * 2;
    else if ((head & 0xf0) === 0x90) return head & 0x0f;
    else if (head === 0xdc || head === 0xdd) return this.uint(head === 0xdc ? 2 : 4);
    else if (head === 0xde || head === 0xdf) return this.uint(head === 0xde ? 2 : 4) * 2;
    else throw new BadMessage("not a message: floats, bytes and extensions do not go over the wire");
    return -1;
  }
}

const LENGTH_SIZE = [1, 2, 4] as const;

const isMap = (head: number): boolean => (head & 0xf0) === 0x80 || head === 0xde || head === 0xdf;

/** Throw BadMessage unless `bytes` are one whole value of the protocol's kinds, nested at most `depth` levels. */
export function scan(bytes: Uint8Array, depth: number): void {
  const reader = new Reader(bytes);
  /** Values still to come, and whether they are a map's, level by level. */
  const left: number[] = [1];
  const maps: boolean[] = [false];
  while (left.length) {
    const level = left.length - 1;
    if (left[level] === 0) {
      left.pop();
      maps.pop();
      continue;
    }
    // A map's values alternate: keys are met while an even number is left.
    const asKey = maps[level]! && left[level]! % 2 === 0;
    left[level]! -= 1;
    const head = bytes[reader.at] ?? 0;
    const within = reader.value(asKey);
    if (within < 0) continue;
    if (level >= depth) throw new BadMessage(`not a message: nested deeper than ${depth} levels`);
    if (within > bytes.length - reader.at) throw new BadMessage("not a message: it is cut off");
    left.push(within);
    maps.push(isMap(head));
  }
  if (reader.at !== bytes.length) throw new BadMessage("not a message: something follows it");
}
