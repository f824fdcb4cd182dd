/**
 * Dice shown as dice: a shape for the number of sides, the face in it, and beside them what the roll was and what it came to.
 */
import { type Roll, keptOf } from "../model/dice.js";
import { useWords } from "./context.js";

const SHAPES: { readonly [sides: number]: string } = {
  4: "M14 3 26 24H2Z",
  6: "M4 4h20v20H4Z",
  8: "M14 1 26 14 14 27 2 14Z",
  10: "M14 1 26 11v6L14 27 2 17v-6Z",
  12: "M14 1 23 4l4 8-2 9-7 6h-8l-7-6-2-9 4-8Z",
  20: "M14 1 26 7.500v13L14 27 2 20.500v-13Z",
};
const ROUND = "M14 2a12 12 0 1 1 0 24 12 12 0 0 1 0-24Z";

export function Die({ sides, face, kept }: { sides: number; face: number; kept: boolean }) {
  return (
    <svg class={kept ? "die kept" : "die"} viewBox="0 0 28 28" width="28" height="28" aria-hidden="true" data-sides={sides}>
      <path d={SHAPES[sides] ?? ROUND} />
      <text x="14" y={sides === 4 ? 21 : 18.5} text-anchor="middle" class={face > 99 ? "small" : ""}>
        {face}
      </text>
    </svg>
  );
}

export function RollLine({ roll }: { roll: Roll }) {
  const { t } = useWords();
  const kept = keptOf(roll);
  const notes = [
    ...(roll.of ? [t("dice.reroll", { n: roll.of })] : []),
    ...(kept ? [t("dice.kept", { n: kept })] : []),
    ...(roll.proven === false ? [t("dice.entered")] : []),
    ...(roll.stream === "hidden" ? [t("dice.hidden")] : []),
  ];
  const said = `${roll.faces.length}d${roll.sides}: ${roll.faces.join(", ")}`;
  return (
    <span class="roll" role="img" aria-label={[said, ...notes].join("; ")} data-roll={roll.n}>
      <span class="roll-kind">
        {roll.faces.length}d{roll.sides}
      </span>
      {roll.faces.map((face, at) => (
        <Die key={at} sides={roll.sides} face={face} kept={at < kept} />
      ))}
      {notes.length > 0 && <small>{notes.join(t("list.dot"))}</small>}
    </span>
  );
}
