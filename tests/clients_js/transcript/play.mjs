// Plays the script of this folder with the TypeScript client and prints the transcript as JSON. README.md says what each step does.
// Standard input: {url, token, session, script}.
import { BadMessage, DustupError, Pilot, Refused, WebSocket, connect, input } from "../client.mjs";

const VALUES = { fraction: 1.5, huge: 2 ** 53 };

const { url, token, session, script } = await input();
const client = await connect(url, token, { WebSocket });
const came = [];
let table;

async function step(step) {
  try {
    return await perform(step);
  } catch (error) {
    if (error instanceof Refused) return { error: "Refused", code: error.code, text: error.text, v: error.v, data: error.data };
    if (error instanceof BadMessage) return { error: "BadMessage" };
    if (error instanceof DustupError) return { error: error.name };
    throw error;
  }
}

async function perform(step) {
  if (step.join) return join(step.join);
  if (step.again) {
    await table.leave();
    return join({});
  }
  if (step.do) return ack(await table.do(step.do, step.value ? { value: VALUES[step.value] } : {}, "at" in step ? { at: step.at } : {}));
  for (const kind of ["salt", "chat", "post"]) if (kind in step) return ack(await table[kind](step[kind]));
  if (step.options) {
    const options = await table.options();
    return { v: options.v, options };
  }
  if (step.odds) {
    const command = first(await table.options());
    return command && table.odds(command);
  }
  if (step.history) {
    const page = await table.history(step.history);
    return { more: page.more, frames: page.map(bare) };
  }
  const report = await new Pilot(table, step.pilot.seed).run({ maxActions: step.pilot.max });
  return { report, v: table.v, view: table.view };
}

async function join(options) {
  table = await client.join(session, options);
  table.onFrame((frame) => came.push(bare(frame)));
  const { seat, role, ruleset, variant, epoch, v, recent, promptsOpen: prompts, view } = table;
  return { seat, role, ruleset, variant, epoch, v, recent: recent.map(bare), prompts, view };
}

function first(options) {
  const option = options.find(({ odds }) => odds);
  if (!option) return null;
  const command = { ...option.command };
  for (const { name, choices = [], default: proposed } of option.params ?? []) command[name] = choices[0]?.value ?? proposed ?? null;
  return command;
}

function ack({ v, durability, again }) {
  return { v, durability, again };
}

function bare({ t, stamp, ...frame }) {
  return frame.events ? { ...frame, events: frame.events.map(({ body_id, sha256, ...event }) => event) } : frame;
}

const transcript = [];
for (const each of script) transcript.push(await step(each));
await client.close();
console.log(JSON.stringify([...transcript, came]));
