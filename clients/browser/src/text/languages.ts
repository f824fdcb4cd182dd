/**
 * The languages of the page. Rules' words and shared texts are the terminal app's catalogue; what only a page says is in `catalogue/`.
 */
import en from "../catalogue/ui.en.json" with { type: "json" };
import zh from "../catalogue/ui.zh_TW.json" with { type: "json" };
import type { Language } from "./texts.js";

export interface Shared {
  readonly en: { readonly [key: string]: string };
  readonly zh: { readonly [key: string]: string };
  readonly messages: { readonly [key: string]: string };
}

/** Every language, the fallback first. */
export function languages(shared: Shared): readonly [Language, ...Language[]] {
  return [
    { code: "en", title: "English", ui: { ...shared.en, ...en }, messages: {} },
    { code: "zh-TW", title: "繁體中文", ui: { ...shared.zh, ...zh }, messages: shared.messages },
  ];
}

/** The first language that a browser's wishes name, the fallback when it has none of them. */
export function chosen(all: readonly [Language, ...Language[]], wishes: readonly string[]): Language {
  for (const wish of wishes) {
    const main = wish.toLowerCase().split("-")[0];
    const found = all.find(({ code }) => code === wish) ?? all.find(({ code }) => code.toLowerCase().split("-")[0] === main);
    if (found) return found;
  }
  return all[0];
}
