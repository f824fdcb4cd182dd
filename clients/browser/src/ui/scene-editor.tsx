/**
 * The scene editor: zones, what they hold, and what leads where, with the map as it will be drawn.
 */
import { useState } from "preact/hooks";
import * as scenes from "../model/scenes.js";
import { useGame, useWords } from "./context.js";
import { Cross } from "./icons.js";
import { ZoneMap } from "./map.js";

type Entity = { readonly [field: string]: any };

export function SceneEditor({ scenes: known }: { scenes: { readonly [id: string]: Entity } }) {
  const { t } = useWords();
  const game = useGame();
  const [draft, setDraft] = useState<scenes.Draft | null>(null);
  const open = (id: string): void => {
    setDraft(scenes.draftOf(known[id] ?? null, scenes.freeId("s", Object.keys(known)), t("scene.first_zone")));
  };
  if (!draft) {
    return (
      <ul class="orders quiet">
        {Object.entries(known).map(([id, each]) => (
          <li key={id}>
            <button class="order" onClick={() => open(id)}>
              <span>{String(each["name"] || id)}</span>
            </button>
          </li>
        ))}
        <li>
          <button class="order" data-tool="scene.new" onClick={() => open("")}>
            <span>{t("scene.new")}</span>
          </button>
        </li>
      </ul>
    );
  }
  const zones = draft.zones;
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await game.do(scenes.commandOf(draft))) setDraft(null);
  };
  return (
    <form class="stack editor" onSubmit={save}>
      <label class="field">
        <span>{t("scene.name")}</span>
        <input
          name="scene"
          required
          maxLength={64}
          value={draft.name}
          onInput={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
        />
      </label>
      <ZoneMap
        scene={{ id: draft.scene, name: draft.name, zones, edges: draft.edges, blind: draft.blind }}
        people={{}}
        sides={[]}
        mine={[]}
        current=""
        wanted={null}
        chosen={new Set()}
        touch={(id) => document.getElementById(`zone-${id}`)?.focus()}
      />
      {zones.map((zone) => {
        const id = String(zone["id"]);
        return (
          <fieldset key={id} class="zone-form">
            <legend class="unseen">{String(zone["name"])}</legend>
            <div class="row">
              <label class="field grow">
                <span>{t("scene.zone")}</span>
                <input
                  id={`zone-${id}`}
                  required
                  maxLength={64}
                  value={String(zone["name"])}
                  onInput={(event) => setDraft(scenes.changeZone(draft, id, { name: event.currentTarget.value }))}
                />
              </label>
              <label class="field tiny">
                <span>{t("scene.cost")}</span>
                <input
                  type="number"
                  min={0}
                  max={99}
                  value={Number(zone["cost"] ?? 0)}
                  onInput={(event) =>
                    setDraft(scenes.changeZone(draft, id, { cost: Math.max(0, Math.trunc(Number(event.currentTarget.value))) }))
                  }
                />
              </label>
              <button
                type="button"
                class="plain icon-only"
                aria-label={t("scene.drop", { zone: zone["name"] })}
                disabled={zones.length === 1}
                onClick={() => setDraft(scenes.dropZone(draft, id))}
              >
                <Cross />
              </button>
            </div>
            <label class="field">
              <span>{t("scene.covers")}</span>
              <input
                defaultValue={((zone["covers"] ?? []) as Entity[]).map((each) => each["name"]).join(", ")}
                onChange={(event) => {
                  const named = event.currentTarget.value.split(/[,、]/).map((each) => each.trim());
                  setDraft(scenes.changeZone(draft, id, { covers: scenes.covers(zone, named.filter(Boolean)) }));
                }}
              />
            </label>
            <div class="chips" role="group" aria-label={t("scene.ways")}>
              {zones
                .filter((other) => other["id"] !== id)
                .map((other) => (
                  <label key={String(other["id"])} class="chip">
                    <input
                      type="checkbox"
                      checked={scenes.isJoined(draft, id, String(other["id"]))}
                      onChange={(event) => setDraft(scenes.join(draft, id, String(other["id"]), event.currentTarget.checked))}
                    />
                    <span>{String(other["name"])}</span>
                  </label>
                ))}
            </div>
            <label class="check">
              <input
                type="checkbox"
                checked={Boolean(zone["hidden"])}
                onChange={(event) => setDraft(scenes.changeZone(draft, id, { hidden: event.currentTarget.checked }))}
              />
              {t("card.hidden")}
            </label>
          </fieldset>
        );
      })}
      <div class="row end">
        <button type="button" onClick={() => setDraft(scenes.addZone(draft, t("scene.next_zone", { n: zones.length + 1 })))}>
          {t("scene.add")}
        </button>
        <span class="grow" />
        <button type="button" class="plain" onClick={() => setDraft(null)}>
          {t("form.cancel")}
        </button>
        <button class="main">{t("scene.save")}</button>
      </div>
    </form>
  );
}
