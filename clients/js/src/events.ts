/**
 * What the core tells whoever moves its bytes: answers, changed tables, and when to hang up.
 */
import type { Message } from "./codec.js";
import type { Closed, DustupError } from "./errors.js";

export type CoreEvent =
  | { is: "welcomed"; message: Message }
  /** The answer to request `id`. */
  | { is: "answered"; id: string; message: Message }
  /** Request `id` will get no answer, or was refused. */
  | { is: "failed"; id: string; error: DustupError }
  /** A table's view moved on: `message` is the frame, reset or joined that did it. `first` marks the first join. */
  | { is: "changed"; session: string; message: Message; first: boolean }
  /** Something else is new at a table: a prompt, or who is here. */
  | { is: "told"; session: string }
  /** The table cannot be joined (any more). */
  | { is: "lost"; session: string; error: DustupError }
  /** Close the connection now, with this close code; a new one may be opened after `reconnectIn`. */
  | { is: "hang up"; code: number; text: string }
  /** The client is finished: reconnecting would not help. */
  | { is: "fatal"; error: Closed };
