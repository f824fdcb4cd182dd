/**
 * How the page looks to this person: language and colours.
 */
import { useWords } from "./context.js";
import { type Looks, THEMES } from "./app.js";

export function LooksMenu({ looks }: { looks: Looks }) {
  const { t } = useWords();
  return (
    <div class="looks">
      <label>
        <span class="unseen">{t("looks.language")}</span>
        <select
          name="language"
          value={looks.language.code}
          onChange={(event) => looks.setLanguage(looks.languages.find(({ code }) => code === event.currentTarget.value)!)}
        >
          {looks.languages.map(({ code, title }) => (
            <option key={code} value={code} lang={code}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="unseen">{t("looks.theme")}</span>
        <select
          name="theme"
          value={looks.theme}
          onChange={(event) => looks.setTheme(THEMES.find((each) => each === event.currentTarget.value)!)}
        >
          {THEMES.map((each) => (
            <option key={each} value={each}>
              {t(`looks.${each}`)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
