// What the pilot's chance gives for each seed, in the order test_live.py asks for it. Standard input: a list of seeds.
import { Random, input } from "./client.mjs";

const NUMBERS = [1, 2, 3, 10, 100, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 53 - 1];
const LETTERS = [..."abcdefg"];
const WEIGHTS = [1, 6, 1, 10, 0.5, 3, 2];

const found = (await input()).map((seed) => {
  const random = new Random(seed);
  return Array.from({ length: 300 }, (_, turn) => [
    random.random(),
    random.int(-3, NUMBERS[turn % NUMBERS.length] - 4),
    random.choice(LETTERS),
    random.weighted(LETTERS, WEIGHTS),
  ]);
});
console.log(JSON.stringify(found));
