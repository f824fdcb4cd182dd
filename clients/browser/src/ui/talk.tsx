/**
 * Saying something: chat, or a piece of the story; to everyone, or to one seat.
 */
import { useRef, useState } from "preact/hooks";
import { useGame, useWords } from "./context.js";

interface Props {
  readonly seats: { readonly [id: string]: { readonly [field: string]: any } };
  readonly voices: readonly string[];
}

export function Talk({ seats, voices }: Props) {
  const { t, names } = useWords();
  const game = useGame();
  const [kind, setKind] = useState("chat");
  const [to, setTo] = useState("");
  const text = useRef<HTMLTextAreaElement>(null);
  const say = async (): Promise<void> => {
    const said = text.current!.value.trim();
    if (!said) return;
    const [type, voice] = kind.split(" ", 2);
    text.current!.value = "";
    const done = await game.do({ type: type!, text: said, ...(voice ? { combatant: voice } : {}), ...(to ? { to: [to] } : {}) });
    // Not said: give the words back, unless others were written meanwhile.
    if (!done && text.current && !text.current.value) text.current.value = said;
  };
  const others = Object.keys(seats).filter((id) => id !== game.table?.seat);
  return (
    <form
      class={to ? "talk private" : "talk"}
      onSubmit={(event) => {
        event.preventDefault();
        void say();
      }}
    >
      <div class="row">
        <select name="kind" aria-label={t("talk.kind")} value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
          <option value="chat">{t("talk.chat")}</option>
          <option value="post">{t("talk.post")}</option>
          {voices.map((id) => (
            <option key={id} value={`post ${id}`}>
              {t("talk.as_who", { who: names.combatant(id) })}
            </option>
          ))}
        </select>
        <select name="to" aria-label={t("talk.to")} value={to} onChange={(event) => setTo(event.currentTarget.value)}>
          <option value="">{t("talk.to_all")}</option>
          {others.map((id) => (
            <option key={id} value={id}>
              {t("talk.to_one", { who: names.seat(id) })}
            </option>
          ))}
        </select>
      </div>
      <div class="row">
        <textarea
          ref={text}
          name="text"
          rows={1}
          aria-label={t("talk.title")}
          placeholder={t("talk.hint")}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void say();
          }}
        />
        <button>{t("talk.send")}</button>
      </div>
    </form>
  );
}
