import type { JSX } from "preact";
import { createStore, useStore } from "../state/store.js";

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 6_000;
const notices = createStore<readonly Notice[]>([]);
let made = 0;

/** A short word in the corner that something was done. */
export function notify(text: string, tone: Notice["tone"] = "good"): void {
  const id = ++made;
  notices.set([...notices.get(), { id, text, tone }]);
  setTimeout(() => notices.set(notices.get().filter((one) => one.id !== id)), SHOWN_MS);
}

export const Notices = (): JSX.Element => (
  <div class="notices" role="status" aria-live="polite">
    {useStore(notices).map(({ id, text, tone }) => (
      <div key={id} class={`notice ${tone}`}>
        {text}
      </div>
    ))}
  </div>
);
