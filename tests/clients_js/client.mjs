// The built TypeScript client and a WebSocket for any Node, for the scripts that tests in this folder run.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

export * from "../../clients/js/dist/index.js";

/** Node's own where there is one (22 and newer), else the one that the client's own tests use. */
export const WebSocket = globalThis.WebSocket ?? createRequire(new URL("../../clients/js/package.json", import.meta.url))("ws").WebSocket;

/** What the test hands in. Secrets come this way and not as arguments, which anybody on the machine may read. */
export async function input() {
  return JSON.parse(await text(process.stdin));
}
