/**
 * An async iterator's bounded queue. It ends with an error: the table's, or Lagged when its reader is too slow.
 */
import { Lagged, type DustupError } from "./errors.js";

/** Frames or prompts an iterator may fall behind before it ends with Lagged. */
export const QUEUE = 1000;

interface Waiting<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: DustupError): void;
}

export class Feed<T> implements AsyncIterableIterator<T> {
  #items: T[] = [];
  #waiting: Waiting<T>[] = [];
  #error: DustupError | null = null;
  #over = false;

  /** `closed` is called once, when nobody will read any more. */
  constructor(
    readonly closed: (feed: Feed<T>) => void,
    readonly limit: number = QUEUE,
  ) {}

  put(item: T): void {
    if (this.#over) return;
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve({ value: item, done: false });
    else if (this.#items.length >= this.limit) this.end(new Lagged(`more than ${this.limit} were waiting to be read`));
    else this.#items.push(item);
  }

  /** What was put so far is still read; then comes `error`. */
  end(error: DustupError): void {
    if (this.#over) return;
    this.#finish();
    const waiting = this.#waiting.shift();
    if (waiting) waiting.reject(error);
    else this.#error = error;
    this.#release();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve({ value: item, done: false });
    const error = this.#error;
    this.#error = null;
    if (error) return Promise.reject(error);
    if (this.#over) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#items = [];
    this.#error = null;
    if (!this.#over) this.#finish();
    this.#release();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(): void {
    this.#over = true;
    this.closed(this);
  }

  #release(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve({ value: undefined, done: true });
  }
}
