/**
 * The top of the table: what it is called, whether the server hears us, who one is and who else is here.
 */
import type { View } from "dustup-client";
import { useEffect, useReducer } from "preact/hooks";
import type { Game } from "../game.js";
import type { Looks } from "./app.js";
import { useWords } from "./context.js";
import { LooksMenu } from "./looks.js";

interface Props {
  readonly game: Game;
  readonly name: string;
  readonly view: View;
  readonly looks: Looks;
  check(): void;
  leave(): void;
}

export function Head({ game, name, view, looks, check, leave }: Props) {
  const { t, names } = useWords();
  const table = game.table!;
  const about = [table.ruleset, table.variant].filter(Boolean).join(t("list.dot"));
  const others = Object.keys(table.presence).filter((id) => id !== table.seat);
  const self = view["seats"]?.[table.seat];
  return (
    <header class="head">
      <div class="head-name">
        <h1>{name}</h1>
        <small>{about}</small>
      </div>
      <LinkState game={game} />
      <p class="head-who">
        <span class="self">{t("head.you", { name: String(self?.["name"] ?? table.seat), role: t(`role.${table.role}`) })}</span>
        <small>{others.length ? t("head.here", { who: others.map((id) => names.seat(id)).join(t("list.comma")) }) : t("head.alone")}</small>
      </p>
      <div class="head-tools">
        <button class="plain" onClick={check} data-check>
          {t("check.verify")}
        </button>
        <LooksMenu looks={looks} />
        <button class="plain" onClick={leave} data-leave>
          {t("head.leave")}
        </button>
      </div>
    </header>
  );
}

function LinkState({ game }: { game: Game }) {
  const { t } = useWords();
  const [, tick] = useReducer((count: number) => count + 1, 0);
  const { is, at } = game.link;
  useEffect(() => {
    if (is !== "waiting") return;
    const timer = setInterval(() => tick(undefined as never), 1000);
    return () => clearInterval(timer);
  }, [is, at]);
  const left = at ? Math.ceil((at - Date.now()) / 1000) : 0;
  const state = is === "open" ? (game.busy ? "busy" : "on") : "off";
  const text =
    state === "busy" ? t("link.busy") : state === "on" ? t("link.on") : left > 0 ? t("link.retry", { n: left }) : t("link.trying");
  return (
    <p class="link-state" data-state={state} role="status">
      <span class="dot" aria-hidden="true" />
      {text}
    </p>
  );
}
