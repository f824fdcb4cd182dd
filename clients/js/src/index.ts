/**
 * Client for Dustup tables: a live view, actions that happen exactly once, and a connection that mends itself.
 *
 * Start with `connect`, then `Client.join` for a `Table`; README.md has an example of ten lines.
 */
export { Client, connect, type ConnectOptions, type ConnectionState } from "./client.js";
export * from "./errors.js";
export * as http from "./http.js";
export { parseLink, type Link } from "./links.js";
export type * as messages from "./messages.js";
export type { Chances, Choice, Command, Cost, Event, Frame, Option, Param, PastEntry, Question, Value } from "./messages.js";
export { Pilot, fightOver, type PilotOptions, type Prefer, type Report, type RunOptions, type Until } from "./pilot.js";
export { Random } from "./random.js";
export type { Entities, Entity, View } from "./replica.js";
export type { SocketLike, SocketMaker } from "./socket.js";
export type { Ack, DoOptions, Move, Options, Page, Table, WaitOptions } from "./table.js";
export { VERSION } from "./version.js";
