/**
 * What every part of the page knows without being told: the language, the names, and the game.
 */
import { Component, type ComponentChildren, createContext, type FunctionComponent, type RenderableProps, h } from "preact";
import { useContext, useEffect, useReducer } from "preact/hooks";
import type { Game } from "../game.js";
import type { Names } from "../text/names.js";
import type { Fields, Texts } from "../text/texts.js";

export interface Words {
  readonly texts: Texts;
  readonly names: Names;
  t(key: string, named?: Fields): string;
}

export const WordsContext = createContext<Words>(null!);
export const GameContext = createContext<Game>(null!);

export const useWords = (): Words => useContext(WordsContext);
export const useGame = (): Game => useContext(GameContext);

/** Draw anew after each change of the game. */
export function useChanges(game: Game | null): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => game?.onChange(() => again(undefined as never)), [game]);
}

/** A part that is drawn anew only when one of its props is another, by `===`. */
export function memo<P extends object>(Part: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Record<string, unknown>;
      const after = next as Record<string, unknown>;
      const fields = Object.keys(after);
      return fields.length !== Object.keys(before).length || fields.some((field) => before[field] !== after[field]);
    }
    override render(props: RenderableProps<P>): ComponentChildren {
      return h(Part, props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
