import type { Link, LinkEvents, openLink } from "./link.js";

/** A thread that was started before anybody needed it: who waits behind a killed one does not wait for a start too. */
export interface Spare {
  /** The thread that is used from now on; it tells `events` of everything from now on. */
  take(events: LinkEvents): { readonly link: Link; readonly isReady: boolean };
  /** Starts the next one, unless it stands by already. */
  prepare(): void;
  close(): Promise<void>;
}

interface Started {
  link: Link | null;
  isReady: boolean;
  /** Null while it stands by. */
  events: LinkEvents | null;
}

export function createSpare(open: typeof openLink): Spare {
  let spare: Started | null = null;
  const start = (events: LinkEvents | null): Started => {
    const one: Started = { link: null, isReady: false, events };
    one.link = open({
      onAnswer: (answer) => {
        if (answer.kind === "ready") one.isReady = true;
        one.events?.onAnswer(answer);
      },
      onGone: (cause) => {
        if (spare === one) spare = null;
        one.events?.onGone(cause);
      },
    });
    return one;
  };
  return {
    take: (events) => {
      const one = spare ?? start(events);
      spare = null;
      one.events = events;
      return { link: one.link!, isReady: one.isReady };
    },
    prepare: () => {
      spare ??= start(null);
    },
    close: async () => {
      await spare?.link?.close();
      spare = null;
    },
  };
}
