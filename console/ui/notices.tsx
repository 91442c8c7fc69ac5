import type { JSX } from "preact";
import { createStore, useStore } from "../state/store.js";
import { Button } from "./buttons.js";

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 6_000;
const notices = createStore<readonly Notice[]>([]);
let made = 0;

const close = (id: number): void => notices.set(notices.get().filter((one) => one.id !== id));

/** A short word in the corner that something was done. Why something was not has to be read: it stays until somebody closes it. */
export function notify(text: string, tone: Notice["tone"] = "good"): void {
  const id = ++made;
  notices.set([...notices.get(), { id, text, tone }]);
  if (tone === "good") setTimeout(() => close(id), SHOWN_MS);
}

export const Notices = (): JSX.Element => (
  <div class="notices" role="status" aria-live="polite">
    {useStore(notices).map(({ id, text, tone }) => (
      <div key={id} class={`notice ${tone}`}>
        <span class="grow">{text}</span>
        <Button kind="quiet" isSmall icon="close" label="Dismiss" onClick={() => close(id)} />
      </div>
    ))}
  </div>
);
