/**
 * Fields of a server's message, read with a check: what the protocol promises is there, or BadMessage says what is not.
 */
import { isMap } from "./codec.js";
import { BadMessage } from "./errors.js";

type Fields = { readonly [field: string]: unknown };

function broken(field: string, wanted: string): never {
  throw new BadMessage(`\`${field}\` is not ${wanted}`);
}

export function text(from: Fields, field: string): string {
  const value = from[field];
  return typeof value === "string" ? value : broken(field, "a text");
}

export function int(from: Fields, field: string): number {
  const value = from[field];
  return typeof value === "number" ? value : broken(field, "a number");
}

export function map(from: Fields, field: string): Fields {
  const value = from[field];
  return isMap(value) ? value : broken(field, "a map");
}

export function list(from: Fields, field: string): readonly unknown[] {
  const value = from[field];
  return Array.isArray(value) ? value : broken(field, "a list");
}

/** The same for a field that may be left out (or null, which means the same). */
export function optional<T>(read: (from: Fields, field: string) => T, from: Fields, field: string): T | undefined {
  return from[field] === undefined || from[field] === null ? undefined : read(from, field);
}

/** A list of maps, such as `events` or `frames`. */
export function maps(from: Fields, field: string): readonly Fields[] {
  const value = list(from, field);
  return value.every(isMap) ? (value as readonly Fields[]) : broken(field, "a list of maps");
}

/** `{kind: {id: {...}}}`. */
export function view(from: Fields, field: string): { readonly [kind: string]: { readonly [id: string]: Fields } } {
  const value = map(from, field);
  for (const entities of Object.values(value)) {
    if (!isMap(entities) || !Object.values(entities).every(isMap)) broken(field, "a view");
  }
  return value as { [kind: string]: { [id: string]: Fields } };
}

/** `{kind: [id]}`. */
export function ids(from: Fields, field: string): { readonly [kind: string]: readonly string[] } {
  const value = map(from, field);
  for (const each of Object.values(value)) {
    if (!Array.isArray(each) || !each.every((id) => typeof id === "string")) broken(field, "a map of lists of ids");
  }
  return value as { [kind: string]: string[] };
}

/** `{seat: connections}`. */
export function counts(from: Fields, field: string): { readonly [seat: string]: number } {
  const value = map(from, field);
  if (!Object.values(value).every((each) => typeof each === "number")) broken(field, "a map of numbers");
  return value as { [seat: string]: number };
}
