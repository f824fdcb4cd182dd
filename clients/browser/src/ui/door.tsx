/**
 * The way in: an invite to accept, a link to paste, or a table to make.
 */
import { http, parseLink } from "dustup-client";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Seat, call, textOf } from "../game.js";
import { keepLinks, keepSeat } from "../keep.js";
import { useWords } from "./context.js";
import { Mark } from "./icons.js";
import type { Looks } from "./app.js";
import { LooksMenu } from "./looks.js";

export type Wanted =
  { readonly is: "nothing" } | { readonly is: "invite"; readonly code: string } | { readonly is: "trouble"; readonly text: string };

/** What a link leads to. Throws BadLink, whose text says what is wrong with it. */
export function takeLink(address: string): { is: "nothing" } | { is: "invite"; code: string } | { is: "seat"; seat: Seat } {
  const link = parseLink(address);
  if (link.code) return { is: "invite", code: link.code };
  if (link.token && link.session) return { is: "seat", seat: { token: link.token, session: link.session } };
  return { is: "nothing" };
}

interface Props {
  readonly wanted: Wanted;
  readonly looks: Looks;
  sit(seat: Seat): void;
  again(): void;
}

export function Door({ wanted, looks, sit, again }: Props) {
  const { t } = useWords();
  return (
    <div class="door">
      <header class="door-head">
        <Mark />
        <h1>Dustup</h1>
        <LooksMenu looks={looks} />
      </header>
      <main>
        {wanted.is === "trouble" && (
          <p class="notice bad" role="alert">
            {wanted.text}
          </p>
        )}
        {wanted.is === "invite" ? (
          <Accept code={wanted.code} sit={sit} again={again} />
        ) : (
          <>
            <p class="lede">{t("door.lede")}</p>
            <div class="ways-in">
              <Paste sit={sit} />
              <Create sit={sit} />
            </div>
          </>
        )}
      </main>
    </div>
  );
}

function Accept({ code, sit, again }: { code: string; sit(seat: Seat): void; again(): void }) {
  const { t } = useWords();
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const name = useRef<HTMLInputElement>(null);
  useEffect(() => name.current?.focus(), []);
  const accept = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const called = name.current?.value.trim();
      const seat = await call(`${location.origin}/v1/invites/redeem`, "POST", { code, ...(called ? { name: called } : {}) });
      sit({ session: String(seat["session"]), token: String(seat["token"]) });
    } catch (error) {
      setTrouble(textOf(error));
      setBusy(false);
    }
  };
  return (
    <section class="panel narrow" aria-labelledby="accept">
      <h2 id="accept">{t("door.invited")}</h2>
      <p class="soft">{t("door.once")}</p>
      <form class="stack" onSubmit={accept}>
        <label class="field">
          <span>{t("door.name")}</span>
          <input ref={name} name="name" maxLength={64} autoComplete="nickname" />
        </label>
        <p class="trouble" role="alert">
          {trouble}
        </p>
        <div class="row">
          <button class="main" disabled={busy}>
            {t("door.sit")}
          </button>
          <button type="button" class="plain" onClick={again}>
            {t("door.elsewhere")}
          </button>
        </div>
      </form>
    </section>
  );
}

function Paste({ sit }: { sit(seat: Seat): void }) {
  const { t } = useWords();
  const [trouble, setTrouble] = useState("");
  const go = (event: SubmitEvent): void => {
    event.preventDefault();
    const link = String(new FormData(event.currentTarget as HTMLFormElement).get("link") ?? "");
    try {
      const found = takeLink(link);
      if (new URL(parseLink(link).url).origin !== location.origin) location.assign(link);
      else if (found.is === "seat") sit(found.seat);
      else if (found.is === "invite") location.hash = found.code;
      else setTrouble(t("door.no_invite"));
    } catch (error) {
      setTrouble(textOf(error));
    }
  };
  return (
    <section class="panel" aria-labelledby="paste">
      <h2 id="paste">{t("door.join")}</h2>
      <p class="soft">{t("door.join_how")}</p>
      <form class="stack" onSubmit={go}>
        <label class="field">
          <span>{t("door.link")}</span>
          <input name="link" required autoComplete="off" spellcheck={false} placeholder={`${location.origin}/#…`} />
        </label>
        <p class="trouble" role="alert">
          {trouble}
        </p>
        <div class="row">
          <button class="main">{t("door.go")}</button>
        </div>
      </form>
    </section>
  );
}

interface Ruleset {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly variants: { readonly [name: string]: unknown };
  readonly switches: { readonly [name: string]: readonly (string | number | boolean)[] };
  readonly samples: { readonly [name: string]: string };
}

function Create({ sit }: { sit(seat: Seat): void }) {
  const { t, texts } = useWords();
  const [rulesets, setRulesets] = useState<readonly Ruleset[] | null>(null);
  const [chosen, setChosen] = useState("");
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const load = (): void => {
    setTrouble("");
    call(`${location.origin}/v1/rulesets`, "GET").then(
      (told) => {
        const found = told["rulesets"] as Ruleset[];
        setRulesets(found);
        setChosen(found[0]?.name ?? "");
      },
      (error: unknown) => setTrouble(textOf(error)),
    );
  };
  useEffect(load, []);
  const rules = rulesets?.find(({ name }) => name === chosen);
  const make = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const said = (name: string): string => String(form.get(name) ?? "");
    const options: { [name: string]: unknown } = {};
    for (const [name, values] of Object.entries(rules?.switches ?? {})) {
      const at = said(`switch.${name}`);
      if (at !== "") options[name] = values[Number(at)];
    }
    const setup = {
      ruleset: chosen,
      ...(said("sample") ? { sample: said("sample") } : {}),
      ...(said("variant") ? { variant: said("variant") } : {}),
      ...(said("name").trim() ? { name: said("name").trim() } : {}),
      ...(Object.keys(options).length ? { options } : {}),
    };
    setBusy(true);
    try {
      const made = await http.create(location.origin, setup);
      const seats = (made["seats"] ?? {}) as { [seat: string]: { link?: string } };
      keepSeat(null);
      keepLinks(Object.fromEntries(Object.entries(seats).flatMap(([seat, { link }]) => (link ? [[seat, link]] : []))));
      sit({ session: made.session, token: String(made["token"]) });
    } catch (error) {
      setTrouble(textOf(error));
      setBusy(false);
    }
  };
  return (
    <section class="panel" aria-labelledby="create">
      <h2 id="create">{t("door.create")}</h2>
      <p class="soft">{t("door.create_how")}</p>
      {rulesets === null ? (
        <p class="waiting">{trouble ? <button onClick={load}>{t("door.try_again")}</button> : t("door.loading")}</p>
      ) : (
        <form class="stack" onSubmit={make}>
          <fieldset class="rulesets">
            <legend>{t("door.ruleset")}</legend>
            {rulesets.map((each) => (
              <label key={each.name} class="choice-card">
                <input type="radio" name="ruleset" checked={each.name === chosen} onChange={() => setChosen(each.name)} />
                <span>
                  <b>{each.title}</b>
                  <small>{each.summary}</small>
                </span>
              </label>
            ))}
          </fieldset>
          <label class="field">
            <span>{t("door.sample")}</span>
            <select name="sample" key={chosen}>
              {Object.entries(rules?.samples ?? {}).map(([name, text]) => (
                <option key={name} value={name}>
                  {text}
                </option>
              ))}
              <option value="">{t("door.empty_table")}</option>
            </select>
          </label>
          <label class="field">
            <span>{t("door.table_name")}</span>
            <input name="name" maxLength={64} autoComplete="off" />
          </label>
          <details>
            <summary>{t("door.more")}</summary>
            <div class="stack">
              <label class="field">
                <span>{t("door.variant")}</span>
                <select name="variant" key={chosen}>
                  <option value="">{t("door.usual")}</option>
                  {Object.keys(rules?.variants ?? {}).map((name) => (
                    <option key={name}>{name}</option>
                  ))}
                </select>
              </label>
              {Object.entries(rules?.switches ?? {}).map(([name, values]) => (
                <label key={`${chosen} ${name}`} class="field">
                  <span>{texts.field(name)}</span>
                  <select name={`switch.${name}`}>
                    <option value="">{t("door.usual")}</option>
                    {values.map((value, at) => (
                      <option key={at} value={at}>
                        {String(value)}
                      </option>
                    ))}
                  </select>
                </label>
              ))}
            </div>
          </details>
          <p class="trouble" role="alert">
            {trouble}
          </p>
          <div class="row">
            <button class="main" disabled={busy}>
              {t("door.make")}
            </button>
          </div>
        </form>
      )}
    </section>
  );
}
