/** The parts without a page: chances, dice, layout, heights of rows, orders, cards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { card, initials, sides } from "../src/model/card.js";
import { check, draw, keyOf as diceKey, rollsOf } from "../src/model/dice.js";
import { mean, part, percent } from "../src/model/fractions.js";
import { Heights } from "../src/model/heights.js";
import { border, distances, plan, ranks } from "../src/model/layout.js";
import { type Entry, Logbook } from "../src/model/logbook.js";
import { type Order, commandOf, keyOf, namedBy, proposals, touched } from "../src/model/orders.js";
import * as scenes from "../src/model/scenes.js";

test("a chance that is not certain never reads as certain", () => {
  assert.equal(percent("1/2"), "50 %");
  assert.equal(percent("13/400"), "3.3 %");
  assert.equal(percent("0/1"), "0 %");
  assert.equal(percent("1/1"), "100 %");
  assert.equal(percent("1/100000"), "< 0.1 %");
  assert.equal(percent("99999/100000"), "> 99.9 %");
  assert.equal(percent("nonsense"), "");
  assert.equal(part("3/4"), 0.75);
});

test("huge fractions stay exact: numbers of a hundred digits are no problem", () => {
  const huge = "9".repeat(100);
  assert.equal(percent(`${BigInt(huge) / 4n}/${huge}`), "25 %");
});

test("the mean of a distribution weighs each amount by its chance", () => {
  const damage = [
    { value: 0, p: "1/2" },
    { value: 3, p: "1/4" },
    { value: 5, p: "1/4" },
  ];
  assert.equal(mean(damage), "2");
  assert.equal(mean([]), "");
});

// The example worked by hand in docs/dice.md.
const SEED = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const COMMITMENT = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd";
const SALTS = [
  ["gm", "rain"],
  ["ann", "seven"],
] as const;
const ROLLS = [
  { stream: "open", index: 0, n: 1, sides: 20, faces: [12, 10] },
  { stream: "open", index: 0, n: 2, sides: 6, faces: [3, 2, 2, 3, 4] },
  { stream: "open", index: 0, n: 3, sides: 1000, faces: [979] },
  { stream: "open", index: 0, n: 4, sides: 20, faces: [12, 10, 8], kept: [[1, 2]] },
];
const log = (rolls: readonly unknown[], commitment = COMMITMENT, seed: string | null = SEED) => [
  { events: [{ type: "dice.opened", stream: "open", index: 0, commitment, scheme: "sha256-ctr-1" }] },
  ...rolls.map((roll) => ({ events: [{ type: "x", rolls: [roll] }] })),
  ...(seed === null ? [] : [{ events: [{ type: "dice.revealed", stream: "open", index: 0, seed, salts: SALTS }] }]),
];

test("the key and the faces are those of the example in docs/dice.md", async () => {
  const key = await diceKey(SEED, SALTS);
  const hex = [...key].map((each) => each.toString(16).padStart(2, "0")).join("");
  assert.equal(hex, "63f612d1ffc0d4b2bf07d598ab34a9d13ad4fdd0e39f3a354d1232c63e1fec63");
  assert.deepEqual(await draw(key, 1, 2, 20), [12, 10]);
  assert.deepEqual(await draw(key, 2, 5, 6), [3, 2, 2, 3, 4]);
  assert.deepEqual(await draw(key, 3, 1, 1000), [979]);
});

test("honest dice check out, with the faces that an undo kept", async () => {
  const { epochs, unread } = await check(log(ROLLS));
  assert.equal(unread, 0);
  assert.deepEqual(
    epochs.map(({ fits, right, wrong, waiting }) => ({ fits, right, wrong, waiting })),
    [{ fits: true, right: 4, wrong: [], waiting: 0 }],
  );
});

test("one face changed, a kept face changed, another seed: each is noticed", async () => {
  const changed = ROLLS.map((roll) => (roll.n === 2 ? { ...roll, faces: [3, 2, 2, 3, 5] } : roll));
  assert.deepEqual((await check(log(changed))).epochs[0]!.wrong, [2]);
  const kept = ROLLS.map((roll) => (roll.n === 4 ? { ...roll, faces: [12, 11, 8] } : roll));
  assert.deepEqual((await check(log(kept))).epochs[0]!.wrong, [4]);
  assert.equal((await check(log(ROLLS, "00".repeat(32)))).epochs[0]!.fits, false);
});

test("what cannot be checked is told apart: a secret seed, dice rolled by hand, a scheme nobody knows", async () => {
  assert.equal((await check(log(ROLLS, COMMITMENT, null))).epochs[0]!.waiting, 4);
  const byHand = [{ ...ROLLS[0]!, faces: [1, 1], proven: false }];
  assert.equal((await check(log(byHand))).epochs[0]!.entered, 1);
  assert.equal((await check([{ events: [{ type: "dice.opened", stream: "open", index: 0, commitment: "", scheme: "other" }] }])).unread, 1);
});

test("rolls that are none are left out", () => {
  assert.deepEqual(rollsOf({ rolls: [null, {}, { sides: 6, faces: [1] }] }), [{ sides: 6, faces: [1] }]);
  assert.deepEqual(rollsOf({}), []);
});

const YARD = [
  { a: "road", b: "gate" },
  { a: "gate", b: "heap" },
  { a: "gate", b: "shed" },
  { a: "heap", b: "crane" },
  { a: "shed", b: "crane" },
];

test("zones stand in ranks, and no way skips one", () => {
  const made = ranks(["road", "gate", "heap", "crane", "shed"], YARD);
  assert.deepEqual(made, [["road"], ["gate"], ["heap", "shed"], ["crane"]]);
  const rank = new Map(made.flatMap((ids, at) => ids.map((id) => [id, at] as const)));
  for (const { a, b } of YARD) assert.ok(Math.abs(rank.get(a)! - rank.get(b)!) <= 1);
  assert.equal(distances(YARD, "road").get("crane"), 3);
});

test("every zone has a place, also those that no way leads to, and boxes never overlap", () => {
  const ids = ["road", "gate", "heap", "crane", "shed", "island"];
  for (const width of [320, 390, 700, 1200]) {
    const { boxes, height } = plan(ranks(ids, YARD), width, () => 120);
    assert.equal(boxes.size, ids.length);
    const all = [...boxes.values()];
    for (const one of all) {
      assert.ok(one.x >= 0 && one.x + one.width <= width && one.y >= 0 && one.y + one.height <= height + 1, `${one.id} at ${width}`);
      for (const other of all) {
        if (one === other) continue;
        const apart =
          one.x + one.width <= other.x ||
          other.x + other.width <= one.x ||
          one.y + one.height <= other.y ||
          other.y + other.height <= one.y;
        assert.ok(apart, `${one.id} and ${other.id} at ${width}`);
      }
    }
  }
  assert.deepEqual(plan([], 300, () => 1).boxes.size, 0);
});

test("a line leaves a box at its border", () => {
  const a = { id: "a", x: 0, y: 0, width: 10, height: 10 };
  assert.deepEqual(border(a, { ...a, x: 40 }), { x: 10, y: 5 });
  assert.deepEqual(border(a, a), { x: 5, y: 5 });
});

test("of five thousand rows the right ones are found, before and after they were measured", () => {
  const heights = new Heights(50);
  const keys = Array.from({ length: 5000 }, (_, at) => `k${at}`);
  heights.rows(keys);
  assert.equal(heights.total, 250_000);
  assert.equal(heights.at(125_010), 2500);
  assert.equal(
    heights.measured(
      new Map([
        ["k10", 90],
        ["k3000", 10],
      ]),
      2500,
    ),
    40,
    "what grew above the anchor, and only that",
  );
  assert.equal(heights.top(11), 590);
  assert.equal(heights.total, 250_000);
  assert.equal(heights.at(-5), 0);
  assert.equal(heights.at(10 ** 9), 4999);
  heights.rows([]);
  assert.equal(heights.total, 0);
  assert.equal(heights.at(10), 0);
});

const entry = (v: number, said = true): Entry => ({ v, stamp: String(v), events: said ? [{ type: "x" }] : [] });

test("the log takes each entry once, older pages only where they fit, and knows when it is whole", () => {
  const book = new Logbook();
  book.start([entry(4), entry(5, false), entry(6)]);
  book.add(entry(6));
  book.add(entry(7));
  assert.deepEqual(
    book.rows.map(({ v }) => v),
    [4, 6, 7],
  );
  book.older([entry(1)]);
  assert.equal(book.first, 4, "a page with a gap behind it is left alone");
  book.older([entry(1), entry(2, false), entry(3)]);
  assert.deepEqual(
    book.rows.map(({ v }) => v),
    [1, 3, 4, 6, 7],
  );
  assert.ok(book.whole);
  book.add(entry(9));
  assert.deepEqual(
    book.rows.map(({ v }) => v),
    [9],
    "after a gap the book starts anew",
  );
  assert.ok(!book.whole);
});

const STRIKE: Order = {
  type: "x.strike",
  text: "Strike",
  command: { type: "strike", combatant: "c1", zone: "yard" },
  combatant: "c1",
  params: [
    {
      name: "target",
      choices: [
        { value: "c2", text: "Bo" },
        { value: "c3", text: "Cy" },
      ],
    },
    {
      name: "near",
      choices: [
        { value: [], text: "nobody" },
        { value: ["c4"], text: "Di" },
      ],
      default: [],
      optional: true,
    },
    { name: "extra", kind: "int", min: 0, max: 3, default: 0, optional: true },
  ],
};

test("an order proposes defaults, keeps what still fits, and makes the command", () => {
  const picks = proposals(STRIKE);
  assert.deepEqual(picks, { target: "c2", near: [], extra: 0 });
  assert.deepEqual(commandOf(STRIKE, picks), {
    command: { type: "strike", combatant: "c1", zone: "yard", target: "c2", near: [], extra: 0 },
  });
  assert.deepEqual(proposals(STRIKE, { target: "c3", near: ["gone"], extra: 9 }), { target: "c3", near: [], extra: 0 });
  assert.deepEqual(commandOf(STRIKE, {}), { lacks: "target" });
});

test("what an order names can be touched; lists of one count as the one", () => {
  assert.deepEqual([...namedBy(STRIKE)].sort(), ["c2", "c3", "c4", "yard"]);
  assert.deepEqual(touched(STRIKE, {}, "c3"), { target: "c3" });
  assert.deepEqual(touched(STRIKE, {}, "c4"), { near: ["c4"] });
  assert.equal(touched(STRIKE, {}, "c9"), null);
});

test("a merged value becomes fields of the command, as the GM's tools need", () => {
  const tool: Order = {
    type: "gm.hide",
    text: "",
    command: { type: "gm.hide" },
    params: [{ name: "what", merge: true, choices: [{ value: { kind: "zone", id: "z" }, text: "" }] }],
  };
  assert.deepEqual(commandOf(tool, proposals(tool)), { command: { type: "gm.hide", kind: "zone", id: "z" } });
});

test("a card goes by the form of fields, whatever they are called", () => {
  const made = card({
    id: "c1",
    name: "Reed",
    side: "x",
    zone: "z",
    vigour: 3,
    max_vigour: 9,
    harm: 1,
    harm_limit: 3,
    braced: true,
    out: false,
    weapon: "",
    speed: 7,
    injuries: [{ id: "i", at: "leg" }],
    special: { STR: 5 },
    turn: { moved: true, aimed: false },
  });
  assert.deepEqual(made.bars, [
    { field: "vigour", value: 3, most: 9 },
    { field: "harm", value: 1, most: 3 },
  ]);
  assert.deepEqual(made.marks, ["braced", "moved"]);
  assert.deepEqual(made.figures, [{ field: "speed", value: 7 }]);
  assert.deepEqual(made.lists, [{ field: "injuries", values: ["leg"] }]);
  assert.deepEqual(made.maps, [{ field: "special", values: [["STR", 5]] }]);
});

test("tokens of namesakes differ", () => {
  assert.equal(initials("Junk picker ·2"), "J2");
  assert.equal(initials("Tess Marlow"), "TM");
  assert.equal(initials("Reed"), "Re");
  assert.equal(initials("🦊"), "🦊");
  assert.deepEqual(sides({ a: { side: "z" }, b: { side: "m" }, c: { side: "z" } }), ["m", "z"]);
});

test("the scene editor keeps what it does not show, and takes ways along with their zones", () => {
  const scene = {
    id: "s",
    name: "Mill",
    zones: [
      { id: "a", name: "A", tags: ["wet"], covers: [{ id: "k1", name: "cart", hides: ["leg"] }] },
      { id: "b", name: "B" },
    ],
    edges: [{ a: "a", b: "b", cost: 2 }],
    blind: [["a", "b"] as const],
  };
  const draft = scenes.draftOf(scene, "s9", "");
  assert.ok(scenes.isJoined(draft, "b", "a"));
  const more = scenes.addZone(draft, "C");
  assert.deepEqual(more.edges, [
    { a: "a", b: "b", cost: 2 },
    { a: "b", b: "z1" },
  ]);
  assert.deepEqual(scenes.changeZone(draft, "a", { name: "AA" }).zones[0], { ...scene.zones[0], name: "AA" });
  assert.deepEqual(scenes.covers(scene.zones[0]!, ["cart", "wall"]), [
    { id: "k1", name: "cart", hides: ["leg"] },
    { id: "k2", name: "wall", hides: ["*"] },
  ]);
  const fewer = scenes.dropZone(more, "b");
  assert.deepEqual([fewer.edges, fewer.blind], [[], []]);
  assert.ok(!scenes.isJoined(scenes.join(draft, "a", "b", false), "a", "b"));
  assert.ok(!scenes.isBlind(scenes.blindfold(draft, "b", "a", false), "a", "b"));
});

test("two orders with one command but other things to choose are two", () => {
  assert.notEqual(keyOf(STRIKE), keyOf({ ...STRIKE, params: STRIKE.params!.slice(1) }));
  assert.equal(keyOf(STRIKE), keyOf({ ...STRIKE, text: "Said otherwise" }));
});
