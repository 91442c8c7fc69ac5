import { createStore } from "./store.js";

/** Where the service is: the folder above the console's own, also behind a proxy that puts a prefix before it. */
export const BASE = new URL("../", location.href.split("#")[0]);

const LOOK_MS = 2_000;
const LOOKED_MS = 5_000;

export type Connection = "here" | "away";
export const connection = createStore<Connection>("here");
/** Rises when the service is back, so that what is shown is read again. */
export const returns = createStore(0);

let looking = false;

/** To be called when an answer failed to come. Looks until the service is back. */
export function wentAway(): void {
  connection.set("away");
  if (looking) return;
  looking = true;
  setTimeout(() => void look(), LOOK_MS);
}

async function look(): Promise<void> {
  // Among the addresses that a proxy must pass for the console. What answers at all is back; a proxy says 502 and more for a service that is away.
  const isBack = await fetch(new URL("console/session", BASE), {
    cache: "no-store",
    signal: AbortSignal.timeout(LOOKED_MS),
  }).then(
    ({ status }) => status < 500,
    () => false,
  );
  if (!isBack) return void setTimeout(() => void look(), LOOK_MS);
  looking = false;
  connection.set("here");
  returns.set(returns.get() + 1);
}
