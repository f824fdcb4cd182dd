/**
 * Seats and the way to them: an invite as a link to send or a code to hold a phone to.
 */
import qrcode from "qrcode-generator";
import { useMemo, useState } from "preact/hooks";
import { textOf } from "../game.js";
import { keepLinks, keptLinks } from "../keep.js";
import { useGame, useWords } from "./context.js";

type Entity = { readonly [field: string]: any };

export function Seats({ seats, presence }: { seats: { readonly [id: string]: Entity }; presence: { readonly [seat: string]: number } }) {
  const { t, names } = useWords();
  const game = useGame();
  const [links, setLinks] = useState(keptLinks);
  const [trouble, setTrouble] = useState("");
  const invite = async (key: string, wanted: { seat: string } | { role: string }): Promise<void> => {
    try {
      const made = await game.call("POST", "/invites", wanted);
      const next = { ...links, [key]: String(made["link"]) };
      keepLinks(next);
      setLinks(next);
      setTrouble("");
    } catch (error) {
      setTrouble(textOf(error));
    }
  };
  return (
    <div class="stack">
      <p class="soft small">{t("seats.how")}</p>
      {trouble && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
      <ul class="seats">
        {Object.entries(seats).map(([id, seat]) => (
          <li key={id} data-seat={id}>
            <div class="row">
              <span class={presence[id] ? "dot on" : "dot"} aria-hidden="true" />
              <span class="grow">
                <b>{String(seat["name"])}</b>{" "}
                <small class="soft">
                  {[t(`role.${seat["role"]}`), ...((seat["controls"] ?? []) as string[]).map((each) => names.combatant(each))].join(
                    t("list.dot"),
                  )}
                </small>
                <span class="unseen">{presence[id] ? t("seats.here") : t("seats.away")}</span>
              </span>
              {id !== game.table?.seat && (
                <button class="small" onClick={() => invite(id, { seat: id })}>
                  {links[id] ? t("seats.anew") : t("seats.invite")}
                </button>
              )}
            </div>
            {links[id] && !presence[id] && <Link link={links[id]} />}
          </li>
        ))}
        {(["player", "spectator"] as const).map((role) => (
          <li key={role} data-role={role}>
            <div class="row">
              <span class="grow">{t(`seats.new_${role}`)}</span>
              <button class="small" onClick={() => invite(`+${role}`, { role })}>
                {t("seats.invite")}
              </button>
            </div>
            {links[`+${role}`] && <Link link={links[`+${role}`]!} />}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Link({ link }: { link: string }) {
  const { t } = useWords();
  const [copied, setCopied] = useState(false);
  const copy = (): void => void navigator.clipboard?.writeText(link).then(() => setCopied(true));
  return (
    <div class="link">
      <div class="row">
        <input readOnly value={link} aria-label={t("seats.link")} onFocus={(event) => event.currentTarget.select()} />
        <button class="small" onClick={copy}>
          {copied ? t("seats.copied") : t("seats.copy")}
        </button>
      </div>
      <details>
        <summary>{t("seats.qr")}</summary>
        <Qr text={link} />
      </details>
    </div>
  );
}

function Qr({ text }: { text: string }) {
  const { t } = useWords();
  const { size, path } = useMemo(() => {
    const code = qrcode(0, "M");
    code.addData(text);
    code.make();
    const count = code.getModuleCount();
    let drawn = "";
    for (let y = 0; y < count; y++) for (let x = 0; x < count; x++) if (code.isDark(y, x)) drawn += `M${x + 4} ${y + 4}h1v1h-1z`;
    return { size: count + 8, path: drawn };
  }, [text]);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t("seats.qr_label")} shape-rendering="crispEdges">
      <rect width={size} height={size} />
      <path d={path} />
    </svg>
  );
}
