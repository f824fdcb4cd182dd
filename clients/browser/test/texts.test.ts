/** The catalogues: every key in every language, the same places to fill, and none that the page asks for and nobody wrote. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { chosen, languages } from "../src/text/languages.js";
import { Names } from "../src/text/names.js";
import { Texts, fill } from "../src/text/texts.js";

const read = (path: string): { [key: string]: string } => JSON.parse(readFileSync(path, "utf8"));
const shared = "../terminal/app/catalogue";
const all = languages({
  en: read(`${shared}/ui.en.json`),
  zh: read(`${shared}/ui.zh_TW.json`),
  messages: read(`${shared}/messages.zh_TW.json`),
});
const [en, zh] = all;
const places = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!).sort();

/** Every source of the page, whole. */
const sources = ["src/ui", "src/model", "src/text", "src"].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(`${folder}/${name}`, "utf8")),
);
/** Keys that are asked for as they stand, and the beginnings of those that are put together. */
const asked = new Set(sources.flatMap((text) => [...text.matchAll(/\bt\(\s*"([^"]+)"/g)].map(([, key]) => key!)));
const begun = new Set(sources.flatMap((text) => [...text.matchAll(/\bt\(\s*`([^`$]*)\$\{/g)].map(([, start]) => start!)));
for (const [text, first, second] of sources.flatMap((each) => [...each.matchAll(/\bt\([^)]*\? "([^"]+)" : "([^"]+)"/g)])) {
  assert.ok(text);
  asked.add(first!);
  asked.add(second!);
}

test("the page's own texts have the same keys and the same places in every language", () => {
  const own = [read("src/catalogue/ui.en.json"), read("src/catalogue/ui.zh_TW.json")] as const;
  assert.deepEqual(Object.keys(own[1]).sort(), Object.keys(own[0]).sort());
  for (const key of Object.keys(own[0])) assert.deepEqual(places(own[1][key]!), places(own[0][key]!), key);
});

test("every key that the page asks for is written in every language", () => {
  assert.ok(asked.size > 80, "the search still finds them");
  for (const key of asked) for (const language of [en, zh!]) assert.ok(Object.hasOwn(language.ui, key), `${key} in ${language.code}`);
  for (const start of begun)
    assert.ok(
      Object.keys(en.ui).some((key) => key.startsWith(start)),
      start,
    );
});

test("no text of the page's own is left over", () => {
  const isUsed = (key: string): boolean => asked.has(key) || [...begun].some((start) => start && key.startsWith(start));
  assert.deepEqual(
    Object.keys(read("src/catalogue/ui.en.json")).filter((key) => !isUsed(key) && !sources.some((text) => text.includes(`"${key}"`))),
    [],
  );
});

test("Chinese texts hold no Latin words but names, places and GM", () => {
  const latin = Object.entries(read("src/catalogue/ui.zh_TW.json")).filter(([, text]) => /[A-Za-z]{3,}/.test(text.replace(/\{\w+\}/g, "")));
  assert.deepEqual(latin, []);
});

test("places are filled, doubled braces stand for one, and a missing value leaves the server's words", () => {
  assert.equal(
    fill("{a} and {{b}}", () => "x"),
    "x and {b}",
  );
  assert.equal(
    fill("{a}", () => null),
    null,
  );
  const names = new Names(new Texts(zh!, en));
  names.look({ combatants: { c1: { name: "Reed" }, c2: { name: "Junk" }, c3: { name: "Junk" } } });
  assert.equal(names.message("event", { type: "turn.started", text: "Reed's turn.", combatant: "c1" }), "輪到 Reed。");
  assert.equal(names.message("event", { type: "turn.started", text: "Somebody's turn." }), "Somebody's turn.");
  assert.equal(names.message("event", { type: "nobody.knows", text: "As it is." }), "As it is.");
  assert.equal(names.combatant("c3"), "Junk ·2");
  assert.equal(names.choice("target", { value: "c3", text: "Junk, difficulty 1" }), "Junk ·2, difficulty 1");
  assert.equal(names.choice("near", { value: ["c2"], text: "Junk" }), "Junk ·1");
  assert.equal(names.choice("target", { value: "c1", text: "Reed" }), "Reed");
});

test("names of objects' own functions are no texts", () => {
  const texts = new Texts(zh!, en);
  assert.equal(texts.word("field", "constructor"), null);
  assert.equal(texts.t("constructor"), "constructor");
});

test("the browser's wishes choose the language, English when it has no other", () => {
  assert.equal(chosen(all, ["zh-TW", "en"]).code, "zh-TW");
  assert.equal(chosen(all, ["zh"]).code, "zh-TW");
  assert.equal(chosen(all, ["fr", "en-GB"]).code, "en");
  assert.equal(chosen(all, []).code, "en");
});
