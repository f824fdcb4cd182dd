/**
 * "Verify the dice": reads the whole log and computes every roll anew, in this page, from the seeds that were revealed.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { textOf } from "../game.js";
import { type Checked, check } from "../model/dice.js";
import { useGame, useWords } from "./context.js";
import { Check, Cross } from "./icons.js";

export function DiceCheck({ close }: { close(): void }) {
  const { t } = useWords();
  const game = useGame();
  const dialog = useRef<HTMLDialogElement>(null);
  const [read, setRead] = useState(0);
  const [found, setFound] = useState<{ epochs: readonly Checked[]; unread: number } | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    dialog.current!.showModal();
    game
      .everything(setRead)
      .then(check)
      .then(setFound, (error: unknown) => setTrouble(textOf(error)));
  }, []);
  const sum = (count: (each: Checked) => number): number => (found?.epochs ?? []).reduce((all, each) => all + count(each), 0);
  const isBad = found?.epochs.some(({ fits, wrong }) => fits === false || wrong.length > 0);
  const right = sum((each) => (each.seed ? each.right : 0));
  const revealed = found?.epochs.some(({ seed }) => seed);
  const verdict = isBad ? t("check.bad") : revealed ? t("check.good", { n: right }) : t("check.none");
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="check-title">
      <header>
        <h2 id="check-title">{t("check.title")}</h2>
        <button class="plain icon-only" aria-label={t("form.close")} onClick={() => dialog.current!.close()}>
          <Cross />
        </button>
      </header>
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      {!found && !trouble && <p role="status">{t("check.reading", { n: read })}</p>}
      {found && (
        <>
          <p class={`verdict ${isBad ? "bad" : revealed ? "good" : ""}`} role="status">
            {isBad ? <Cross /> : revealed ? <Check /> : null}
            {verdict}
          </p>
          <ul class="epochs">
            {found.epochs.map((each) => (
              <li key={`${each.stream} ${each.index}`}>
                <b>{t("check.epoch", { stream: t(`dice.${each.stream}`), index: each.index })}</b>
                <p class={each.fits === false ? "trouble" : "soft"}>
                  {!each.seed
                    ? t("check.secret")
                    : each.fits === null
                      ? t("check.unseen")
                      : t(each.fits ? "check.fits" : "check.other_seed")}
                </p>
                <p>{t("check.counts", { right: each.seed ? each.right : 0, entered: each.entered, waiting: each.waiting })}</p>
                {each.wrong.length > 0 && (
                  <p class="trouble">{t("check.wrong", { which: each.wrong.map((n) => `#${n}`).join(t("list.comma")) })}</p>
                )}
                <code>{t("check.commitment", { hash: each.commitment })}</code>
                {each.seed && <code>{t("check.seed", { seed: each.seed })}</code>}
              </li>
            ))}
          </ul>
          {found.unread > 0 && <p class="trouble">{t("check.unread", { n: found.unread })}</p>}
          <p class="soft small">{t("check.how")}</p>
        </>
      )}
    </dialog>
  );
}
