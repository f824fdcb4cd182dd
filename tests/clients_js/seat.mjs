// One seat of a live table, played by the TypeScript client's pilot. Standard input: {url, token, session, seed}.
// Prints {seat, report, v, view} once the fight is over.
import { Pilot, WebSocket, connect, input } from "./client.mjs";

const { url, token, session, seed } = await input();
const client = await connect(url, token, { WebSocket });
const table = await client.join(session);
const report = await new Pilot(table, seed).run();
const { seat, v, view } = table;
await client.close();
console.log(JSON.stringify({ seat, report, v, view }));
