/**
 * The whole page: the door until there is a seat, the table while there is one; the language and the colours of both.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { Game, type Seat, textOf } from "../game.js";
import { keepSeat, keptSeat, setWish, wish } from "../keep.js";
import { Names } from "../text/names.js";
import { chosen } from "../text/languages.js";
import { type Language, Texts } from "../text/texts.js";
import { GameContext, WordsContext, type Words } from "./context.js";
import { Door, type Wanted, takeLink } from "./door.js";
import { TablePage } from "./table.js";

export interface Looks {
  readonly languages: readonly Language[];
  readonly language: Language;
  setLanguage(language: Language): void;
  readonly theme: Theme;
  setTheme(theme: Theme): void;
}

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export function App({ languages }: { languages: readonly [Language, ...Language[]] }) {
  const [language, setLanguage] = useState(() => chosen(languages, [wish("language") ?? "", ...navigator.languages].filter(Boolean)));
  const [theme, setTheme] = useState<Theme>(() => THEMES.find((each) => each === wish("theme")) ?? "system");
  const [seat, setSeat] = useState<Seat | null>(() => null);
  const [wanted, setWanted] = useState<Wanted>({ is: "nothing" });
  const words = useMemo<Words>(() => {
    const texts = new Texts(language, languages[0]);
    return { texts, names: new Names(texts), t: (key, named) => texts.t(key, named) };
  }, [language]);

  useEffect(() => {
    document.documentElement.lang = language.code;
  }, [language]);
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }, [theme]);

  const arrive = (): void => {
    try {
      const found = takeLink(location.href);
      // Neither a code nor a token stays in the address: addresses are remembered and shown around.
      if (location.hash) history.replaceState(null, "", location.pathname);
      if (found.is === "seat") {
        keepSeat(null);
        sit(found.seat);
      } else if (found.is === "invite") setWanted(found);
      else {
        const kept = keptSeat();
        if (kept) setSeat(kept);
      }
    } catch (error) {
      history.replaceState(null, "", location.pathname);
      setWanted({ is: "trouble", text: textOf(error) });
    }
  };
  useEffect(() => {
    arrive();
    const again = (): void => void (location.hash && arrive());
    addEventListener("hashchange", again);
    return () => removeEventListener("hashchange", again);
  }, []);

  function sit(next: Seat): void {
    keepSeat(next);
    setSeat(next);
    setWanted({ is: "nothing" });
  }

  function leave(why: string): void {
    keepSeat(null);
    setSeat(null);
    setWanted(why ? { is: "trouble", text: why } : { is: "nothing" });
  }

  const looks: Looks = {
    languages,
    language,
    setLanguage: (next) => (setWish("language", next.code), setLanguage(next)),
    theme,
    setTheme: (next) => (setWish("theme", next), setTheme(next)),
  };
  return (
    <WordsContext.Provider value={words}>
      {seat ? (
        <Seated key={seat.token} seat={seat} looks={looks} leave={leave} />
      ) : (
        <Door key={wanted.is} wanted={wanted} looks={looks} sit={sit} again={() => setWanted({ is: "nothing" })} />
      )}
    </WordsContext.Provider>
  );
}

function Seated({ seat, looks, leave }: { seat: Seat; looks: Looks; leave(why: string): void }) {
  const game = useMemo(() => new Game(location.origin, seat), [seat]);
  useEffect(() => {
    const end = game.onChange(() => game.over !== null && leave(game.over));
    void game.start();
    return () => (end(), game.stop());
  }, [game]);
  return (
    <GameContext.Provider value={game}>
      <TablePage game={game} looks={looks} leave={leave} />
    </GameContext.Provider>
  );
}
