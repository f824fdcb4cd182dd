/**
 * Addresses and join links: what a person was sent, taken apart.
 */
import { BadLink } from "./errors.js";

const PATH = "/v1/ws";
const SHAPE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(?:#(.*))?$/is;
const SCHEMES: { readonly [scheme: string]: "http" | "https" | undefined } = { http: "http", https: "https", ws: "http", wss: "https" };
const INVITE = /^[A-Za-z0-9_:-]{1,64}\.[A-Za-z0-9_-]{1,128}$/;
const TOKEN = /^[A-Za-z0-9_.=-]{1,4096}$/;
const SESSION = /^[A-Za-z0-9_.:-]{1,64}$/;

/**
 * Where to go and with what. `url` is the http(s) base of the server; at most one of `code` and `token` is set. `code` is a
 * whole invite `<session>.<code>`, to be given to `http.redeem`; `session` is the table it leads to, when told.
 */
export interface Link {
  readonly url: string;
  readonly session: string | null;
  readonly code: string | null;
  readonly token: string | null;
}

/**
 * A join link or a server's address, taken apart.
 *
 * `https://host/#<session>.<code>` is an invite; `https://host/#token=<token>` (and `&session=<session>`) carries a token; without
 * a fragment it is a bare address. ws:// and wss:// are taken too. Throws BadLink, which says what is wrong.
 */
export function parseLink(link: string): Link {
  const { url, fragment } = takeApart(link);
  if (!fragment) return { url, session: null, code: null, token: null };
  if (INVITE.test(fragment)) return { url, session: fragment.split(".", 1)[0]!, code: fragment, token: null };
  if (fragment.includes("=")) return withToken(url, fragment);
  throw new BadLink("the part after # is no invite: it looks like <table>.<code>; was the link cut off?");
}

/** The http(s) base address of a server, without a trailing slash. Throws BadLink. */
export function httpUrl(url: string): string {
  return takeApart(url).url;
}

/** The WebSocket address of a server given by any of its addresses. A query (`?near=<session>`) stays. Throws BadLink. */
export function socketUrl(url: string): string {
  const { url: base, query } = takeApart(url);
  return base.replace(/^http/, "ws") + PATH + query;
}

function takeApart(link: string): { url: string; query: string; fragment: string } {
  const trimmed = link.trim();
  if (!trimmed) throw new BadLink("the link is empty");
  const [, scheme = "", host = "", path = "", query = "", fragment = ""] = SHAPE.exec(trimmed) ?? [];
  const kind = Object.hasOwn(SCHEMES, scheme.toLowerCase()) ? SCHEMES[scheme.toLowerCase()] : undefined;
  if (kind === undefined) throw new BadLink("a join link starts with http:// or https:// (or ws://, wss://)");
  if (!host || host.startsWith(":")) throw new BadLink("the link names no server");
  if (host.includes("@")) throw new BadLink("a join link has no user name or password before the server's name");
  try {
    new URL(`http://${host}/`);
  } catch {
    throw new BadLink(`not a link: ${host} is no server's name and port`);
  }
  const base = path
    .replace(/\/+$/, "")
    .replace(/\/v1\/ws$/, "")
    .replace(/\/+$/, "");
  return { url: `${kind}://${host}${base}`, query, fragment };
}

function withToken(url: string, fragment: string): Link {
  const fields = new Map<string, string>();
  for (const piece of fragment.split("&")) {
    const at = piece.indexOf("=");
    try {
      if (at < 0) throw new URIError();
      fields.set(plain(piece.slice(0, at)), plain(piece.slice(at + 1)));
    } catch {
      throw new BadLink("the part after # cannot be read; was the link cut off?");
    }
  }
  const token = fields.get("token") ?? "";
  const session = fields.get("session") ?? null;
  fields.delete("token");
  fields.delete("session");
  if (fields.size) throw new BadLink(`the part after # holds something unknown: ${[...fields.keys()].sort().join(", ")}`);
  if (!TOKEN.test(token)) throw new BadLink("the part after # holds no token; was the link cut off?");
  if (session !== null && !SESSION.test(session)) throw new BadLink("the part after # names a table by an id that none can have");
  return { url, session, code: null, token };
}

function plain(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
