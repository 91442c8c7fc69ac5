import { api, speakFor, whenLoggedOut } from "../api/http.js";
import type { Me, Role } from "../api/types.js";
import { createStore, useStore } from "./store.js";

export type Session =
  | { readonly state: "unknown" }
  /** `reason`: why it ended; null: it never began. */
  | { readonly state: "out"; readonly reason: string | null }
  | { readonly state: "in"; readonly me: Me };

export const session = createStore<Session>({ state: "unknown" });

whenLoggedOut((detail) => {
  const { state } = session.get();
  // A page may ask several things at once: the first refusal says it.
  if (state !== "out") session.set({ state: "out", reason: state === "in" ? detail : null });
});

/** Asks whose session this is. */
export async function findSession(): Promise<void> {
  const { is_open: isOpen } = await api<{ readonly is_open: boolean }>("GET", "/console/session");
  if (isOpen) await enter();
  else session.set({ state: "out", reason: null });
}

export async function logIn(key: string): Promise<void> {
  await api("POST", "/console/session", { key });
  await enter();
}

async function enter(): Promise<void> {
  const me = await api<Me>("GET", "/v1/me", undefined, { isOfAnyKey: true });
  speakFor(me.key.key_id);
  session.set({ state: "in", me });
}

/** Pages go first: what they read meanwhile would be refused. */
export async function logOut(): Promise<void> {
  const before = session.get();
  session.set({ state: "unknown" });
  try {
    await api("DELETE", "/console/session");
  } catch (error) {
    session.set(before);
    throw error;
  }
  session.set({ state: "out", reason: null });
}

/** Of the session; to be called inside of a page only. */
export function useMe(): Me {
  const known = useStore(session);
  if (known.state !== "in") throw new Error("a page is shown only to somebody");
  return known.me;
}

const ROLES: readonly Role[] = ["viewer", "editor", "admin", "owner"];
export const atLeast = (role: Role, required: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(required);

/** Whether the session's key has this role or a higher one: what it may not do is not shown. */
export const useMay = (required: Role): boolean => atLeast(useMe().key.role, required);
