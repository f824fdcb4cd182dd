/**
 * Who is at the table, as far as this seat may know: by the form of the fields, whatever the ruleset calls them.
 */
import { card, sides } from "../model/card.js";
import { memo, useWords } from "./context.js";
import { level } from "./map-parts.js";

type Entity = { readonly [field: string]: any };

interface Props {
  readonly people: { readonly [id: string]: Entity };
  readonly mine: readonly string[];
  readonly current: ReadonlySet<string>;
  readonly chosen: string;
  choose(id: string): void;
}

export function Cards({ people, mine, current, chosen, choose }: Props) {
  const { t, names } = useWords();
  const all = sides(people);
  const ids = Object.keys(people);
  // One's own first, then those who can still do something.
  const rank = (id: string): number => (mine.includes(id) ? 0 : people[id]!["out"] ? 2 : 1);
  ids.sort((a, b) => rank(a) - rank(b) || all.indexOf(String(people[a]!["side"])) - all.indexOf(String(people[b]!["side"])));
  if (!ids.length) return <p class="empty">{t("cards.none")}</p>;
  return (
    <ul class="cards">
      {ids.map((id) => (
        <CombatantCard
          key={id}
          id={id}
          entity={people[id]!}
          name={names.combatant(id)}
          place={[names.of(String(people[id]!["zone"] ?? "")), people[id]!["cover"] && names.of(String(people[id]!["cover"]))]
            .filter(Boolean)
            .join(t("list.dot"))}
          hue={all.indexOf(String(people[id]!["side"] ?? "")) % 5}
          isMine={mine.includes(id)}
          isCurrent={current.has(id)}
          isChosen={id === chosen}
          choose={choose}
        />
      ))}
    </ul>
  );
}

interface CardProps {
  readonly id: string;
  readonly entity: Entity;
  readonly name: string;
  readonly place: string;
  readonly hue: number;
  readonly isMine: boolean;
  readonly isCurrent: boolean;
  readonly isChosen: boolean;
  choose(id: string): void;
}

const CombatantCard = memo(({ id, entity, name, place, hue, isMine, isCurrent, isChosen, choose }: CardProps) => {
  const { t, texts, names } = useWords();
  const { bars, marks, figures, lists, maps } = card(entity);
  const side = String(entity["side"] ?? "");
  return (
    <li class={`card side${hue} ${isCurrent ? "current" : ""} ${entity["out"] ? "out" : ""}`} data-card={id}>
      <button class="card-head" aria-pressed={isChosen} onClick={() => choose(id)}>
        <b>{name}</b>
        <span class="tags">
          {isCurrent && <span class="tag strong">{t("turns.now")}</span>}
          {isMine && <span class="tag own">{t("card.yours")}</span>}
          {entity["out"] && <span class="tag">{t("card.out")}</span>}
          {entity["hidden"] && <span class="tag">{t("card.hidden")}</span>}
        </span>
        <small>{[side && (texts.word("value", side) ?? side), place].filter(Boolean).join(t("list.dot"))}</small>
      </button>
      {bars.length > 0 && (
        <div class="bars">
          {bars.map((bar) => (
            <div key={bar.field} class="bar" data-field={bar.field}>
              <span>{texts.field(bar.field)}</span>
              <meter
                class={level(bar.value / bar.most)}
                min={0}
                max={bar.most}
                value={Math.max(0, Math.min(bar.value, bar.most))}
                aria-label={texts.field(bar.field)}
              />
              <b>
                {bar.value}/{bar.most}
              </b>
            </div>
          ))}
        </div>
      )}
      {marks.length > 0 && (
        <p class="marks">
          {marks.map((mark) => (
            <span key={mark} class="tag mark">
              {texts.field(mark)}
            </span>
          ))}
        </p>
      )}
      {(figures.length > 0 || lists.length > 0 || maps.length > 0) && (
        <details open={isMine && isCurrent}>
          <summary>{t("card.more")}</summary>
          <dl class="figures">
            {figures.map(({ field, value }) => (
              <div key={field}>
                <dt>{texts.field(field)}</dt>
                <dd>{names.say(field, value) ?? String(value)}</dd>
              </div>
            ))}
            {lists.map(({ field, values }) => (
              <div key={field} class="wide">
                <dt>{texts.field(field)}</dt>
                <dd>{values.map((each) => texts.word("value", each) ?? each).join(t("list.comma"))}</dd>
              </div>
            ))}
            {maps.map(({ field, values }) => (
              <div key={field} class="wide">
                <dt>{texts.field(field)}</dt>
                <dd>
                  {values.map(([key, value]) => `${texts.word("value", key) ?? key.replaceAll("_", " ")} ${value}`).join(t("list.dot"))}
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
});
