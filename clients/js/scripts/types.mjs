// Writes src/messages.ts from protocol/schema.json; with --check it only says whether the file is current (exit code 1 if not).
// It knows the few words of JSON Schema that the protocol's schema uses, and stops at any other rather than guess.
import { readFileSync, writeFileSync } from "node:fs";

const SCHEMA = new URL("../../../protocol/schema.json", import.meta.url);
const OUT = new URL("../src/messages.ts", import.meta.url);

/** Constraints that TypeScript cannot express; they stay in the schema. */
const UNSPOKEN = new Set(["title", "description", "default", "minimum", "maximum", "minLength", "maxLength", "pattern"]);
const SPOKEN = new Set(["type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref"]);
const ANY_COMMAND = { type: "object", properties: { type: { type: "string" } }, required: ["type"] };
const SIMPLE = { string: "string", integer: "number", boolean: "boolean", null: "null" };

function comment(text, indent = "") {
  return text ? `${indent}/** ${text.replaceAll("*/", "* /")} */\n` : "";
}

function typeOf(schema, where) {
  for (const word of Object.keys(schema)) {
    if (!SPOKEN.has(word) && !UNSPOKEN.has(word)) throw new Error(`${where}: the generator does not know "${word}"`);
  }
  if (schema.$ref) return schema.$ref.replace("#/$defs/", "");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map((each) => typeOf(each, where)).join(" | ");
  if (schema.type === "array") {
    const item = schema.items ? typeOf(schema.items, `${where}[]`) : "Value";
    return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === "object") return objectOf(schema, where);
  if (schema.type in SIMPLE) return SIMPLE[schema.type];
  if (schema.type === undefined) return "Value";
  throw new Error(`${where}: the generator does not know the type ${JSON.stringify(schema.type)}`);
}

function objectOf(schema, where) {
  if (schema.properties === undefined) {
    const value = typeof schema.additionalProperties === "object" ? typeOf(schema.additionalProperties, `${where}{}`) : "Value";
    return `{ [name: string]: ${value} }`;
  }
  return `{\n${fieldsOf(schema, where, "  ")}}`;
}

function fieldsOf(schema, where, indent) {
  const required = new Set(schema.required ?? []);
  let text = "";
  for (const [name, field] of Object.entries(schema.properties)) {
    const said = field.description ?? field.anyOf?.find((each) => each.description)?.description;
    text += comment(said, indent);
    text += `${indent}${name}${required.has(name) ? "" : "?"}: ${typeOf(field, `${where}.${name}`)};\n`;
  }
  // Only what clients send is closed. A newer server may add fields, and events, questions and commands carry data of their own.
  if (schema.additionalProperties === false) return text;
  return `${text}${indent}[more: string]: unknown;\n`;
}

function generate(schema) {
  let text = "// Generated from protocol/schema.json by `npm run types`. Not to be edited.\n\n";
  text += `${comment("Anything a message may hold: no floats, no bytes; ints within ±(2^53−1).")}`;
  text += "export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };\n";
  for (const [name, definition] of Object.entries(schema.$defs)) {
    text += `\n${comment(definition.description)}`;
    if (definition.properties) text += `export interface ${name} {\n${fieldsOf(definition, name, "  ")}}\n`;
    else text += `export type ${name} = ${typeOf(definition, name)};\n`;
  }
  return text;
}

/** The schema without the rulesets' commands, which a client takes ready-made from options: a command is any map with a `type`. */
function withoutRulesets(schema) {
  const { Command, ...others } = schema.$defs;
  if (Command.anyOf === undefined) return schema;
  const rulesets = new Set(Command.anyOf.map((each) => each.$ref.replace("#/$defs/", "")));
  const kept = Object.entries({ Command: ANY_COMMAND, ...others }).filter(([name]) => !rulesets.has(name.split(".")[0]));
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...schema, $defs: Object.fromEntries(kept) };
}

const wanted = generate(withoutRulesets(JSON.parse(readFileSync(SCHEMA, "utf8"))));
if (process.argv.includes("--check")) {
  let found = "";
  try {
    found = readFileSync(OUT, "utf8");
  } catch {
    // missing is not current
  }
  if (found !== wanted) {
    console.error("src/messages.ts is not what protocol/schema.json says: run `npm run types` in clients/js");
    process.exit(1);
  }
} else {
  writeFileSync(OUT, wanted);
}
