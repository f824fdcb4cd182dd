/**
 * Everything this package throws on purpose. All extend `DustupError`; each text says what can be done about it.
 */

/** Base of all errors of this package. `text` is a sentence for people. */
export class DustupError extends Error {
  constructor(readonly text: string) {
    super(text);
    this.name = new.target.name;
  }
}

/** What a server told when it refused something. */
export interface Refusal {
  /** One of the protocol's stable codes (`not_your_turn`, `no_target`, ...). */
  code: string;
  text?: string;
  /** The table's version at that moment, when a table was meant. */
  v?: number | null;
  data?: { [name: string]: unknown } | null;
  /** Milliseconds to wait, when told. */
  retryAfter?: number | null;
}

/** The server answered with an error: nothing was done. */
export class Refused extends DustupError {
  readonly code: string;
  readonly v: number | null;
  readonly data: { [name: string]: unknown };
  readonly retryAfter: number | null;

  constructor(refusal: Refusal) {
    super(refusal.text || refusal.code);
    this.message = refusal.text ? `${refusal.code}: ${refusal.text}` : refusal.code;
    this.code = refusal.code;
    this.v = refusal.v ?? null;
    this.data = refusal.data ?? {};
    this.retryAfter = refusal.retryAfter ?? null;
  }
}

/**
 * No answer within the client's patience. If an action had been sent its outcome is unknown: it may be in the log or not.
 * `id` is the action's id, null for anything else.
 */
export class Unavailable extends DustupError {
  constructor(
    text: string,
    readonly id: string | null = null,
  ) {
    super(text);
  }
}

/** The client is closed, by `close()` or for good by the server: nothing more will arrive. `code` is the reason's code. */
export class Closed extends DustupError {
  constructor(
    text: string,
    readonly code: string = "closed",
  ) {
    super(text);
  }
}

/** The server does not accept the token (`unauthorized`, `expired` or `revoked`): get a new one. */
export class Unauthorized extends Closed {}

/** Client and server share no protocol version; the text says which side is too old. */
export class UnsupportedVersion extends Closed {}

/** One side sent what the other cannot read. A bug in one of the two, or something that is not a Dustup server. */
export class ProtocolError extends Closed {}

/** The reader of `frames()` or `prompts()` fell too far behind. The table's view is right all the same; start reading anew. */
export class Lagged extends DustupError {}

/** A value that cannot go over the wire (a fraction, a huge number, bytes, too deep, too large), or bytes that are no message. */
export class BadMessage extends DustupError {}

/** A join link that cannot be understood; the text says which part. */
export class BadLink extends DustupError {}

/** `waitFor` has waited as long as it was told to. */
export class TimedOut extends DustupError {}
