/**
 * What the map and its parts share.
 */
export type Entity = { readonly [field: string]: any };

export interface Zone {
  readonly id: string;
  readonly name: string;
  readonly covers?: readonly { readonly id: string; readonly name: string }[];
  readonly cost?: number;
  readonly tags?: readonly string[];
  readonly hidden?: boolean;
}

/** How a zone or a token stands to the order that is being given. */
export type State = "" | "wanted" | "chosen" | "other";

/** The height of a cover's line in a zone, in pixels. */
export const COVER = 20;
