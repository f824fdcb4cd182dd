/**
 * The entries of a table that were seen or asked for, from some version on to the newest. Entries that show nothing take no row.
 */
export interface Entry {
  readonly v: number;
  readonly stamp: string;
  readonly at?: number | null;
  readonly by?: string | null;
  readonly events?: readonly { readonly [field: string]: unknown }[];
}

export class Logbook {
  /** Rows to show, oldest first: entries with events. A new array after each change. */
  rows: readonly Entry[] = [];
  /** The version of the oldest entry that is here; 0 before there is any. */
  first = 0;
  #last = 0;

  /** Whether the log's first entry is here. */
  get whole(): boolean {
    return this.first === 1;
  }

  /** Start anew with the newest entries. */
  start(entries: readonly Entry[]): void {
    this.rows = [];
    this.first = this.#last = 0;
    for (const each of entries) this.add(each);
  }

  /** A new entry. One that is here already is left alone; one that leaves a gap starts the book anew. */
  add(entry: Entry): void {
    if (this.#last && entry.v <= this.#last) return;
    if (this.#last && entry.v !== this.#last + 1) this.start([]);
    this.first ||= entry.v;
    this.#last = entry.v;
    if (entry.events?.length) this.rows = [...this.rows, entry];
  }

  /** A page of older entries, oldest first, that ends right before `first`. Any other is left alone. */
  older(page: readonly Entry[]): void {
    if (!page.length || page.at(-1)!.v !== this.first - 1) return;
    this.first = page[0]!.v;
    this.rows = [...page.filter(({ events }) => events?.length), ...this.rows];
  }
}
