/**
 * Where the page begins.
 */
import { render } from "preact";
import shared_en from "@terminal/ui.en.json" with { type: "json" };
import shared_zh from "@terminal/ui.zh_TW.json" with { type: "json" };
import messages from "@terminal/messages.zh_TW.json" with { type: "json" };
import "./styles/index.css";
import { languages } from "./text/languages.js";
import { App } from "./ui/app.js";

const known = languages({ en: shared_en, zh: shared_zh, messages });
render(<App languages={known} />, document.getElementById("app")!);
