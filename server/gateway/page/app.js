// A small browser client for any table: it shows what the server sends and offers what the server says is legal. It knows no rules.
// Everything from the server becomes text nodes, never markup. protocol/SPEC.md describes the messages.

const $ = (id) => document.getElementById(id);
const KEPT = "dustup.seat";

function h(tag, fields, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (value === undefined || value === false || value === null) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "part") made.style.setProperty("--part", value);
    else if (name in made && typeof value === "boolean") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Replace what an element holds, and keep the keyboard where it was.
function fill(element, ...children) {
  const inside = element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  element.replaceChildren(...children.flat().filter(Boolean));
  if (inside) [...element.querySelectorAll("[data-key]")].find((one) => one.dataset.key === inside)?.focus();
}

// --- what is known -------------------------------------------------------------------------------------------------------

let seat = null; // {session, token}
let me = null; // the last joined message, without its view
let view = {};
let at = null; // {epoch, v, stamp} of the last entry applied whole
let options = { v: 0, list: [] };
let present = {};
const picked = new Map(); // option key -> {param: index of the choice, or text}

const all = (kind) => Object.values(view[kind] ?? {});
const nameOf = (id) => view.combatants?.[id]?.name ?? view.seats?.[id]?.name ?? (id === "@system" ? "The server" : id);
const mine = (id) => me?.role !== "gm" && (view.seats?.[me?.seat]?.controls ?? []).includes(id);

// --- the connection --------------------------------------------------------------------------------------------------------

const client = "web-" + [...crypto.getRandomValues(new Uint8Array(8))].map((one) => one.toString(16).padStart(2, "0")).join("");
const unanswered = new Map(); // action id -> message, sent again until it has an answer
const waiting = new Map(); // request id -> what to do with the answer
let socket = null;
let lastN = 0;
let asked = 0;
let tries = 0;
let earliest = 0;
let lastWords = "";
let heard = 0;
let pieces = [];
let rejoining = false;

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function request(message, answer) {
  const id = "r" + ++asked;
  waiting.set(id, answer);
  send({ ...message, id, session: seat.session });
}

function act(command, v) {
  const message = { t: "do", id: `${client}.${++lastN}`, session: seat.session, command };
  if (v) message.at = v;
  unanswered.set(message.id, message);
  send(message);
  showState();
}

function join(fresh) {
  rejoining = true;
  pieces = [];
  const message = { t: "join", session: seat.session, history: at && !fresh ? 0 : 80, id: "join" };
  if (at && !fresh) message.resume = at;
  send(message);
}

function connect() {
  const url = new URL("/v1/ws", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.searchParams.set("near", seat.session);
  const mySocket = (socket = new WebSocket(url, ["dustup.v1.json"]));
  waiting.clear();
  heard = Date.now();
  mySocket.onopen = () => {
    send({ t: "hello", token: seat.token, min: 1, max: 1, client: { name: "dustup-page", version: "0.1.0" } });
    join(false);
    // Those without an answer go again, under their old ids and in their old order: the server does each of them once.
    for (const message of unanswered.values()) send(message);
  };
  mySocket.onmessage = (event) => {
    heard = Date.now();
    receive(JSON.parse(event.data));
  };
  mySocket.onclose = (event) => {
    if (socket !== mySocket) return;
    socket = null;
    const isFinal = [4002, 4003, 4004, 4013].includes(event.code) || (event.code === 4000 && !earliest);
    if (isFinal) return leave(lastWords || (event.code === 4003 ? "This seat is not yours any more." : ""));
    const pause = event.code === 4009 ? 0 : Math.min(500 * 2 ** tries++, 30000) * (0.6 + 0.4 * Math.random());
    setTimeout(connect, Math.max(pause, earliest - Date.now()));
    showState();
  };
  showState();
}

setInterval(() => {
  if (!socket || socket.readyState !== WebSocket.OPEN) return;
  const silent = Date.now() - heard;
  if (silent > 40000) socket.close();
  else if (silent > 30000) send({ t: "ping" });
}, 5000);

// --- messages ----------------------------------------------------------------------------------------------------------------

function receive(message) {
  if (message.parts) {
    pieces.push(message);
    if (message.part < message.parts) return;
    const field = pieces[0].view ? "view" : "views";
    const whole = {};
    for (const piece of pieces) for (const [kind, some] of Object.entries(piece[field] ?? {})) whole[kind] = { ...whole[kind], ...some };
    message = { ...pieces[0], [field]: whole };
    pieces = [];
  }
  handlers[message.t]?.(message);
}

const handlers = {
  welcome() {
    tries = 0;
    earliest = 0;
    lastWords = "";
  },
  joined(message) {
    if (message.session !== seat.session) return;
    rejoining = false;
    me = message;
    if (!message.resumed) {
      if (at && at.epoch !== message.epoch) tell("The server lost its latest entries; this is the table as it now stands.");
      view = message.view;
      at = { epoch: message.epoch, v: message.v, stamp: message.stamp };
      $("log").replaceChildren();
    }
    for (const entry of message.history ?? []) log(entry);
    show();
    if (!message.resumed) $("log").scrollTop = $("log").scrollHeight;
    askOptions();
  },
  reset(message) {
    view = message.view;
    at = { epoch: message.epoch, v: message.v, stamp: message.stamp };
    tell(message.reason);
    show();
    askOptions();
  },
  frame(message) {
    if (rejoining) return;
    if (message.v === at.v && message.stamp === at.stamp) return;
    if (message.v !== at.v + 1) {
      if (!rejoining) join(true);
      return;
    }
    if (message.view) view = message.view;
    for (const [kind, some] of Object.entries(message.views ?? {})) view[kind] = { ...view[kind], ...some };
    for (const [kind, ids] of Object.entries(message.gone ?? {})) for (const id of ids) delete view[kind]?.[id];
    at = { ...at, v: message.v, stamp: message.stamp };
    log(message);
    if (message.view || message.views || message.gone) {
      show();
      askOptions();
    }
  },
  ack(message) {
    if (unanswered.delete(message.id)) tell("");
    showState();
  },
  error(message) {
    if (message.retry_after) earliest = Date.now() + message.retry_after;
    const action = unanswered.get(message.id);
    if (action && ["unavailable", "rate_limited", "read_only", "archived"].includes(message.code)) {
      // Outcome unknown, or not yet: the same id again, never a new one.
      setTimeout(() => unanswered.has(message.id) && send(action), message.retry_after ?? 1000);
    } else {
      unanswered.delete(message.id);
      waiting.delete(message.id);
      if (message.code === "stale") askOptions();
    }
    if (message.id === "join" && message.retry_after) setTimeout(join, message.retry_after, false);
    lastWords = message.text;
    if (["unauthorized", "expired", "revoked", "no_session"].includes(message.code)) return leave(message.text);
    tell(message.text);
    showState();
  },
  options: (message) => answered(message),
  odds: (message) => answered(message),
  presence(message) {
    present = message.seats;
    showHead();
  },
  bye(message) {
    lastWords = message.text;
    if (message.retry_after) earliest = Date.now() + message.retry_after;
  },
};

function answered(message) {
  const answer = waiting.get(message.id);
  waiting.delete(message.id);
  answer?.(message);
}

function askOptions() {
  request({ t: "options" }, (message) => {
    if (message.v < at.v && message.v < options.v) return;
    options = { v: message.v, list: message.options };
    showOptions();
  });
}

// --- showing -------------------------------------------------------------------------------------------------------------------

function tell(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}

function showState() {
  const state = !socket || socket.readyState !== WebSocket.OPEN || rejoining ? "off" : unanswered.size ? "busy" : "on";
  $("state").dataset.state = state;
  $("state").textContent = { off: seat ? "connecting…" : "not connected", busy: "sending…", on: "connected" }[state];
}

function show() {
  $("door").hidden = true;
  $("table").hidden = false;
  showHead();
  showOrder();
  fill($("scenes"), all("scenes").map(sceneBox), elsewhere(), pools());
  showPrompts();
  showOptions();
  showState();
}

function showHead() {
  const table = view.table?.table ?? {};
  $("title").textContent = table.name || "Dustup";
  $("about").textContent = [table.ruleset, table.variant, table.paused && "paused"].filter(Boolean).join(" · ");
  const others = Object.keys(present).filter((id) => id !== me?.seat).map(nameOf);
  const self = view.seats?.[me?.seat];
  $("who").textContent = self ? `You are ${self.name} (${self.role})${others.length ? `, with ${others.join(", ")}` : ""}` : "";
}

function showOrder() {
  const fights = all("encounters");
  fill($("order"), fights.flatMap((fight) => [
    h("li", { class: "round" }, `Round ${fight.round}`),
    ...fight.order.map((id) => {
      const isNow = id === fight.current;
      const value = fight.initiative?.[id];
      const text = nameOf(id) + (value === undefined ? "" : ` ${value}`);
      return h("li", { class: fight.acted.includes(id) && "acted", "aria-current": isNow && "step", title: isNow && "whose turn it is" }, text);
    }),
  ]));
  const yourTurn = fights.some((fight) => mine(fight.current)) || all("prompts").some((one) => one.to === me?.seat && !one.answered);
  document.title = (yourTurn ? "● Your move: " : "") + ($("title").textContent || "Dustup");
}

function sceneBox(scene) {
  const zones = scene.zones ?? [];
  const there = all("combatants").filter((one) => one.scene === scene.id);
  const nameOfZone = Object.fromEntries(zones.map((zone) => [zone.id, zone.name]));
  const ways = (id) => (scene.edges ?? []).flatMap((edge) => (edge.a === id ? [edge.b] : edge.b === id ? [edge.a] : []));
  return h("div", { class: "scene" }, h("h3", {}, scene.name), h("div", { class: "zones" }, zones.map((zone) =>
    h("div", { class: "zone", "data-zone": zone.id },
      h("h4", {}, zone.name, zone.hidden && " (hidden)"),
      zone.covers?.length ? h("small", {}, "Cover: " + zone.covers.map((cover) => cover.name).join(", ")) : null,
      there.filter((one) => one.zone === zone.id).map((one) => card(one, scene, zone)),
      h("small", {}, ways(zone.id).length ? "to " + ways(zone.id).map((id) => nameOfZone[id] ?? id).join(", ") : "")))));
}

function elsewhere() {
  const lost = all("combatants").filter((one) => !view.scenes?.[one.scene]);
  return lost.length ? h("div", { class: "scene" }, h("h3", {}, "Elsewhere"), h("div", { class: "zones" }, lost.map((one) => card(one)))) : null;
}

function pools() {
  const found = all("pools");
  return found.length ? h("p", { class: "pools" }, found.map((one) => h("span", {}, `${one.name}: `, h("b", {}, String(one.value)), one.cap ? ` of ${one.cap}` : ""))) : null;
}

const SHOWN = new Set(["id", "name", "kind", "side", "scene", "zone", "cover", "out", "template", "reach"]);

// A combatant by whatever fields the view has: x with max_x is a bar, a true field a mark, another plain value a fact.
function card(one, scene, zone) {
  const sides = [...new Set(all("combatants").map((other) => other.side))].sort();
  const bars = [];
  const facts = [];
  for (const [name, value] of Object.entries(one)) {
    const most = one[`max_${name}`];
    const label = name.replaceAll("_", " ");
    if (typeof value === "number" && most > 0) {
      const part = Math.max(0, Math.min(1, value / most));
      bars.push(h("div", { class: `bar ${part > 0.6 ? "" : part > 0.3 ? "some" : "few"}` }, label, h("i", { part: `${100 * part}%` }), `${value}/${most}`));
    } else if (SHOWN.has(name) || name.startsWith("max_") || value === null || value === "" || value === false) continue;
    else if (value === true) facts.push(h("span", { class: "on" }, label));
    else if (typeof value !== "object") facts.push(h("span", {}, `${label} ${value}`));
  }
  const near = (scene?.near ?? []).flatMap(([a, b]) => (a === one.id ? [b] : b === one.id ? [a] : [])).map(nameOf);
  const cover = zone?.covers?.find((other) => other.id === one.cover);
  const turn = all("encounters").some((fight) => fight.current === one.id);
  return h("article", { class: `one s${sides.indexOf(one.side) % 4} ${turn ? "turn" : ""} ${one.out ? "out" : ""}`, "data-combatant": one.id },
    mine(one.id) && h("span", { class: "mine" }, "yours"),
    h("b", {}, one.name), one.side ? h("span", { class: "side" }, one.side) : null, bars,
    h("div", { class: "facts" }, facts, near.length ? h("span", {}, `near ${near.join(", ")}`) : null, cover ? h("span", {}, `behind ${cover.name}`) : null, one.out ? h("span", { class: "on" }, "out of the fight") : null));
}

function showPrompts() {
  fill($("prompts"), all("prompts").filter((one) => !one.answered).map((prompt) => {
    const whose = prompt.to === me.seat ? "" : `For ${nameOf(prompt.to)}: `;
    if (!prompt.text) return h("p", { class: "empty" }, `Waiting for ${nameOf(prompt.to)}…`);
    const need = prompt.ints;
    const numbers = need && h("input", { "aria-label": "numbers", "data-key": `${prompt.id} numbers`, placeholder: `${need.least}–${need.most} numbers from ${need.low} to ${need.high}` });
    const answer = (choice) => {
      const command = { type: "answer", prompt: prompt.id };
      if (choice) command.choice = choice;
      if (need && (!need.choice || need.choice === choice)) command.ints = (numbers.value.match(/-?\d+/g) ?? []).map(Number);
      act(command);
    };
    const choices = prompt.choices?.length ? prompt.choices : [{ value: "", text: "Enter" }];
    return h("div", { class: "ask" }, h("p", {}, whose + prompt.text), h("div", { class: "row" }, numbers,
      choices.map((one, i) => h("button", { class: i ? "" : "main", "data-key": `${prompt.id} ${one.value}`, onclick: () => answer(one.value) }, one.text))),
      prompt.deadline ? h("p", { class: "empty" }, `At ${new Date(prompt.deadline).toLocaleString()} the answer is: ${prompt.choices?.find((one) => one.value === prompt.default)?.text ?? prompt.default}`) : null);
  }));
}

function showOptions() {
  const list = options.list;
  const now = all("encounters").map((fight) => fight.current).filter(Boolean)[0];
  $("moves-title").textContent = list.length && list[0].combatant ? `What ${nameOf(list[0].combatant)} can do` : "What you can do";
  fill($("options"), list.length ? list.map(optionBox) : h("p", { class: "empty" }, now ? `It is ${nameOf(now)}'s turn.` : "Nothing, for now."));
}

function optionBox(option) {
  const key = JSON.stringify([option.type, option.command]);
  const values = picked.get(key) ?? {};
  picked.set(key, values);
  const chances = h("div", { class: "chances", "aria-live": "polite" });
  const params = option.params ?? [];
  const index = (param) => Math.max(0, (param.choices ?? []).findIndex((one) => JSON.stringify(one.value) === (values[param.name] ?? JSON.stringify(param.default))));
  const complete = () => {
    const command = { ...option.command };
    for (const param of params) {
      if (param.choices?.length) command[param.name] = param.choices[index(param)].value;
      else if (param.kind === "int") command[param.name] = Number(values[param.name] ?? param.default ?? param.min ?? 0);
      else if (values[param.name] || !param.optional) command[param.name] = values[param.name] ?? param.default ?? "";
    }
    return command;
  };
  let told = "";
  const look = () => {
    const command = complete();
    if (!option.odds || told === JSON.stringify(command)) return;
    told = JSON.stringify(command);
    request({ t: "odds", command }, (message) => JSON.stringify(complete()) === told && chances.replaceChildren(...oddsOf(message.odds)));
  };
  const pick = (param) => {
    const set = (value) => { values[param.name] = value; look(); };
    if (param.choices?.length === 1) return null;
    const field = param.choices?.length
      ? h("select", { "data-key": `${key} ${param.name}`, onchange: (event) => set(JSON.stringify(param.choices[event.target.selectedIndex].value)) },
          param.choices.map((one, i) => h("option", { selected: i === index(param) }, one.text)))
      : h("input", { "data-key": `${key} ${param.name}`, type: param.kind === "int" ? "number" : "text", min: param.min, max: param.kind === "int" ? param.max : null,
          maxlength: param.kind === "text" ? param.max : null, value: values[param.name] ?? param.default ?? param.min ?? "", oninput: (event) => set(event.target.value) });
    return h("label", {}, param.text, field);
  };
  const only = params.filter((param) => param.choices?.length === 1 && !param.optional).map((param) => param.choices[0].text);
  const cost = (option.cost ?? []).map((one) => `${one.amount} ${view.pools?.[one.pool]?.name ?? one.pool}`);
  return h("form", { class: "option", onmouseenter: look, onfocusin: look, onsubmit: (event) => { event.preventDefault(); act(complete(), options.v); } },
    h("div", { class: "row" },
      h("button", { "data-key": key, "data-type": option.type }, option.text, only.length ? `: ${only.join(", ")}` : "", cost.length ? ` (${cost.join(", ")})` : ""),
      params.map(pick)),
    chances);
}

const percent = (p) => { const [a, b] = p.split("/").map(Number); return `${((100 * a) / b).toFixed(1)} %`; };

function oddsOf(odds) {
  const damage = odds.damage ?? [];
  const share = (p) => { const [a, b] = p.split("/").map(Number); return a / b; };
  const most = Math.max(...damage.map((one) => share(one.p)), 0);
  return [
    ...(odds.parts ?? []).map((part) => h("div", {}, `${part.text}: `, h("b", {}, percent(part.p)), ` (${part.p})`)),
    ...(damage.length ? [h("div", {}, `damage ${damage[0].value} to ${damage.at(-1).value}${odds.text ? `, ${odds.text}` : ""}`),
      h("div", { class: "spread" }, damage.map((one) => h("i", { part: `${(100 * share(one.p)) / most}%`, title: `${one.value}: ${percent(one.p)} (${one.p})` })))] : []),
  ];
}

function log(entry) {
  const list = $("log");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  for (const event of entry.events ?? []) list.append(line(event, entry));
  while (list.children.length > 500) list.firstChild.remove();
  if (atEnd) list.scrollTop = list.scrollHeight;
}

function line(event, entry) {
  const title = entry.at ? `${new Date(entry.at).toLocaleString()}, version ${entry.v}` : null;
  if ("body" in event) {
    const said = event.erased ? "(erased)" : event.body;
    return h("li", { class: "said", title }, h("b", {}, event.name ?? nameOf(event.by ?? entry.by)), event.private ? " (privately): " : ": ", said ?? "");
  }
  const rolls = [...(event.rolls ?? []), ...(event.faces ? [event] : [])];
  const dice = rolls.flatMap((roll) => roll.faces.map((face) =>
    h("span", { class: "die", title: `d${roll.sides}, roll ${roll.n} of the ${roll.stream} dice${roll.proven === false ? ", entered by hand" : ""}` }, String(face))));
  const kind = event.type.startsWith("dice.") ? "small" : event.type.startsWith("turn.") || event.type.startsWith("round.") ? "news" : "";
  const proof = event.commitment && !event.seed ? ` Commitment ${event.commitment.slice(0, 16)}…` : event.seed ? ` Seed ${event.seed}` : "";
  return h("li", { class: kind, title, "data-type": event.type }, event.text + proof, dice);
}

// --- coming in ---------------------------------------------------------------------------------------------------------------

function leave(text) {
  sessionStorage.removeItem(KEPT);
  seat = me = at = null;
  socket?.close();
  socket = null;
  unanswered.clear();
  door("", text || "The connection was ended. Use your join link again, or ask the host for a new one.");
}

function door(code, text) {
  $("table").hidden = true;
  $("door").hidden = false;
  tell("");
  $("join-title").textContent = code ? "Take your seat" : "Join a table";
  $("join-text").textContent = text ?? (code ? "This invite seats you once. What shall the others call you?" : "Paste the link that the host sent you.");
  $("join-link").hidden = Boolean(code);
  $("join").onsubmit = async (event) => {
    event.preventDefault();
    const form = event.target;
    const link = code || form.link.value.trim();
    if (!code && /[#&]token=/.test(link)) return enter(link.slice(link.indexOf("#")));
    const answer = await fetch("/v1/invites/redeem", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code: link.slice(link.indexOf("#") + 1), name: form.name.value }),
    }).catch(() => null);
    const body = await answer?.json().catch(() => null);
    if (!answer?.ok) return tell(body?.text ?? "The server cannot be reached. Try again in a moment.");
    sit({ session: body.session, token: body.token });
  };
  $("join").elements[code ? "name" : "link"].focus();
  showState();
}

function sit(found) {
  seat = found;
  sessionStorage.setItem(KEPT, JSON.stringify(seat));
  tell("");
  connect();
}

function enter(fragment) {
  const fields = new URLSearchParams(fragment.slice(1));
  // Neither code nor token stays in the address bar or the history.
  history.replaceState(null, "", location.pathname);
  if (fields.get("token") && fields.get("session")) return sit({ session: fields.get("session"), token: fields.get("token") });
  if (/^#[\w:-]+\.[\w-]+$/.test(fragment)) return door(fragment.slice(1));
  const kept = sessionStorage.getItem(KEPT);
  if (kept) return sit(JSON.parse(kept));
  door("");
}

$("chat").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("line").value.trim();
  if (!text || !seat) return;
  act({ type: "chat", text });
  $("line").value = "";
});
addEventListener("hashchange", () => location.hash && location.reload());
enter(location.hash);
