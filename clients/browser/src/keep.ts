/**
 * What a tab keeps: the seat (until the tab is closed), the links a GM has to hand out, and a person's wishes.
 */
import type { Seat } from "./game.js";

const SEAT = "dustup.seat";
const LINKS = "dustup.links";

function read(storage: Storage, key: string): unknown {
  try {
    return JSON.parse(storage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

export function keptSeat(): Seat | null {
  const seat = read(sessionStorage, SEAT) as Seat | null;
  return seat && typeof seat.token === "string" && typeof seat.session === "string" ? seat : null;
}

export function keepSeat(seat: Seat | null): void {
  if (seat) sessionStorage.setItem(SEAT, JSON.stringify(seat));
  else {
    sessionStorage.removeItem(SEAT);
    sessionStorage.removeItem(LINKS);
  }
}

/** Invites that were made here: `{seat: link}`. */
export type Links = { readonly [seat: string]: string };

export function keptLinks(): Links {
  return (read(sessionStorage, LINKS) as Links | null) ?? {};
}

export function keepLinks(links: Links): void {
  sessionStorage.setItem(LINKS, JSON.stringify(links));
}

/** A wish of the person, kept in this browser. */
export function wish(name: string): string | null {
  return localStorage.getItem(`dustup.${name}`);
}

export function setWish(name: string, value: string): void {
  localStorage.setItem(`dustup.${name}`, value);
}
