/**
 * Exact chances before anything is done: bars for the outcomes, a chart for how much damage there may be.
 */
import type { Chances as Told } from "dustup-client";
import { mean, part, percent } from "../model/fractions.js";
import { useWords } from "./context.js";

export function Chances({ odds }: { odds: Told }) {
  const { t, texts } = useWords();
  const damage = odds.damage ?? [];
  return (
    <div class="chances">
      <dl>
        {(odds.parts ?? []).map((each) => (
          <div key={each.name} class="chance" data-part={each.name}>
            <dt>{texts.word("odds", each.name) ?? (each.text || each.name)}</dt>
            <dd>
              <b>{percent(each.p)}</b> <span class="exact">{each.p}</span>
            </dd>
            <meter aria-hidden="true" min={0} max={1} value={part(each.p)} />
          </div>
        ))}
      </dl>
      {damage.length > 0 && <Spread damage={damage} />}
      {odds.text && <p class="soft small">{odds.text}</p>}
      {damage.length > 0 && (
        <table class="unseen">
          <caption>{t("odds.damage")}</caption>
          <tbody>
            {damage.map((each) => (
              <tr key={each.value}>
                <th scope="row">{each.value}</th>
                <td>{percent(each.p)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

const HIGH = 56;

function Spread({ damage }: { damage: readonly { readonly value: number; readonly p: string }[] }) {
  const { t } = useWords();
  const parts = damage.map(({ p }) => part(p));
  const most = Math.max(...parts, 0.000_001);
  const wide = Math.max(10, Math.min(34, Math.floor(330 / damage.length)));
  return (
    <figure class="spread" aria-hidden="true">
      <figcaption>
        {t("odds.damage")} · {t("odds.mean", { n: mean(damage) })}
      </figcaption>
      <svg viewBox={`0 0 ${wide * damage.length} ${HIGH + 18}`} width={wide * damage.length} height={HIGH + 18}>
        {damage.map((each, at) => {
          const high = Math.max(2, (parts[at]! / most) * HIGH);
          return (
            <g key={each.value} class="amount">
              <title>{`${each.value}: ${percent(each.p)} (${each.p})`}</title>
              <rect x={at * wide + 1} y={HIGH - high} width={wide - 2} height={high} rx="2" />
              {(wide >= 16 || at % 2 === 0) && (
                <text x={at * wide + wide / 2} y={HIGH + 14} text-anchor="middle">
                  {each.value}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
