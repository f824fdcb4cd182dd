/**
 * Questions the table waits on: one's own with their answers and the time left, those of others as whom one waits for.
 */
import { useEffect, useReducer, useState } from "preact/hooks";
import { useGame, useWords } from "./context.js";

type Question = { readonly id: string; readonly [field: string]: any };
interface Ints {
  readonly least: number;
  readonly most: number;
  readonly low: number;
  readonly high: number;
  readonly choice?: string;
}

export function Prompts({ own, others }: { own: readonly Question[]; others: readonly Question[] }) {
  const { t, names } = useWords();
  const game = useGame();
  return (
    <>
      {own.map((each) => (
        <Ask key={each.id} prompt={each} />
      ))}
      {others.map((each) => (
        <div key={each.id} class="waits" data-prompt={each.id}>
          <span class="dot" aria-hidden="true" />
          {t("wait.answer", { who: names.seat(String(each["to"])) })}
          {game.isGm && each["choices"] && (
            <details>
              <summary>{t("prompt.for_them")}</summary>
              <Ask prompt={each} />
            </details>
          )}
        </div>
      ))}
    </>
  );
}

function Ask({ prompt }: { prompt: Question }) {
  const { t, names } = useWords();
  const game = useGame();
  const ints = prompt["ints"] as Ints | undefined;
  const [numbers, setNumbers] = useState<readonly string[]>([]);
  const [trouble, setTrouble] = useState("");
  const choices = (prompt["choices"] ?? []) as readonly { value: string; text: string }[];
  const answer = async (choice: string): Promise<void> => {
    const command: { type: string; [field: string]: unknown } = { type: "answer", prompt: prompt.id, choice };
    if (ints && (ints.choice === undefined || ints.choice === choice)) {
      const given = numbers.filter((each) => each.trim() !== "").map(Number);
      const isGood = given.length >= ints.least && given.every((each) => Number.isInteger(each) && each >= ints.low && each <= ints.high);
      if (!isGood) return setTrouble(t("form.ints", { count: countOf(ints), low: ints.low, high: ints.high }));
      command["ints"] = given;
    }
    setTrouble("");
    await game.do(command);
  };
  const chosen = choices.find(({ value }) => value === prompt["default"]);
  return (
    <section class="ask" aria-label={t("prompt.title")} data-prompt={prompt.id} data-type={prompt["type"]}>
      <p class="ask-text">{names.prompt(prompt)}</p>
      {ints && (
        <fieldset class="ints">
          <legend>{t("form.ints", { count: countOf(ints), low: ints.low, high: ints.high })}</legend>
          {Array.from({ length: Math.min(ints.most, 24) }, (_, at) => (
            <input
              key={at}
              type="number"
              inputMode="numeric"
              min={ints.low}
              max={ints.high}
              aria-label={t("prompt.number", { n: at + 1 })}
              value={numbers[at] ?? ""}
              onInput={(event) => {
                const next = [...numbers];
                next[at] = event.currentTarget.value;
                setNumbers(Array.from(next, (each) => each ?? ""));
              }}
            />
          ))}
        </fieldset>
      )}
      <div class="row wrap">
        {choices.map((each) => (
          <button key={each.value} class={each.value === prompt["default"] ? "answer usual" : "answer"} onClick={() => answer(each.value)}>
            {names.choice(String(prompt["type"] ?? ""), each)}
          </button>
        ))}
        {choices.length === 0 && <button onClick={() => answer(String(prompt["default"] ?? ""))}>{t("form.do")}</button>}
      </div>
      <p class="small soft ask-foot" role={trouble ? "alert" : undefined}>
        {trouble || (
          <Deadline at={prompt["deadline"] as number | null} usual={chosen ? names.choice(String(prompt["type"] ?? ""), chosen) : ""} />
        )}
      </p>
    </section>
  );
}

const countOf = ({ least, most }: Ints): string => (least === most ? String(least) : `${least}–${most}`);

function Deadline({ at, usual }: { at: number | null | undefined; usual: string }) {
  const { t, texts } = useWords();
  const game = useGame();
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (!at) return;
    const timer = setInterval(() => tick(undefined as never), 1000);
    return () => clearInterval(timer);
  }, [at]);
  if (!at) return <>{usual ? t("prompt.usual", { default: usual }) : "\u00a0"}</>;
  const left = at - game.now();
  return (
    <span class={left < 60_000 ? "soon" : ""}>
      {left > 0 ? t("prompt.deadline", { left: texts.countdown(left), default: usual }) : t("prompt.over")}
    </span>
  );
}
