/**
 * The GM's side of the table: tools, seats and their invites, scenes.
 */
import { useMemo, useState } from "preact/hooks";
import type { View } from "dustup-client";
import type { Order } from "../model/orders.js";
import { keyOf } from "../model/orders.js";
import { tools } from "../model/tools.js";
import { useWords } from "./context.js";
import { SceneEditor } from "./scene-editor.js";
import { Seats } from "./seats.js";

interface Props {
  readonly view: View;
  readonly presence: { readonly [seat: string]: number };
  readonly picked: string;
  pick(order: Order): void;
}

const PAGES = ["tools", "seats", "scenes"] as const;

export function GmPanel({ view, presence, picked, pick }: Props) {
  const { t, names, texts } = useWords();
  const [page, setPage] = useState<(typeof PAGES)[number]>("tools");
  const made = useMemo(() => tools(names), [view, texts]);
  return (
    <div class="gm">
      <div class="tabs" role="tablist" aria-label={t("gm.panel")}>
        {PAGES.map((each) => (
          <button
            key={each}
            role="tab"
            id={`gm-tab-${each}`}
            aria-controls="gm-page"
            aria-selected={page === each}
            onClick={() => setPage(each)}
          >
            {t(`gm.page.${each}`)}
          </button>
        ))}
      </div>
      <div id="gm-page" role="tabpanel" aria-labelledby={`gm-tab-${page}`} class="gm-page">
        {page === "tools" && (
          <ul class="orders quiet">
            {made.map((order) => (
              <li key={keyOf(order)}>
                <button class={picked === keyOf(order) ? "order picked" : "order"} data-tool={order.type} onClick={() => pick(order)}>
                  <span>{order.text}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        {page === "seats" && <Seats seats={view["seats"] ?? {}} presence={presence} />}
        {page === "scenes" && <SceneEditor scenes={view["scenes"] ?? {}} />}
      </div>
    </div>
  );
}
