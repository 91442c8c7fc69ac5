import { api, ApiError, speakFor, whenLoggedOut } from "../api/http.js";
import type { Me, Role } from "../api/types.js";
import { returns } from "./connection.js";
import { createStore, useStore } from "./store.js";
import { isWorkHeld, question, secretsShown } from "./unsaved.js";

export type Session =
  | { readonly state: "unknown" }
  /** `reason`: why it ended; null: it never began. */
  | { readonly state: "out"; readonly reason: string | null }
  /** `ended`: why the session is over, while the page still shows a secret or holds work that is not stored; null: it goes on. */
  /** `page` is another one where the page begins anew. */
  | { readonly state: "in"; readonly me: Me; readonly ended: string | null; readonly page: number };

export const session = createStore<Session>({ state: "unknown" });

whenLoggedOut((detail) => {
  const last = session.get();
  // A page may ask several things at once: the first refusal says it.
  if (last.state === "out" || (last.state === "in" && last.ended !== null)) return;
  if (last.state === "unknown") session.set({ state: "out", reason: null });
  else if (!isWorkHeld() && secretsShown.get() === 0) session.set({ state: "out", reason: detail });
  else {
    // What is asked now would stand below the log-in.
    question.set(null);
    session.set({ ...last, ended: detail });
  }
});

secretsShown.listen((shown) => {
  const last = session.get();
  if (shown === 0 && last.state === "in" && last.ended !== null && !isWorkHeld()) giveUp();
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
  const last = session.get();
  speakFor(me.key.key_id);
  const stays = last.state === "in" && mayGoOn(last.me, me);
  session.set({ state: "in", me, ended: null, page: stays ? last.page : (pages += 1) });
  // What it was refused meanwhile is read again.
  if (stays) returns.set(returns.get() + 1);
}

let pages = 0;
/** Whether the page of the first may stay for the second: it shows and holds nothing that is beyond that key. A key that was revoked cannot come back. */
const mayGoOn = (before: Me, now: Me): boolean =>
  before.workspace.workspace_id === now.workspace.workspace_id && atLeast(now.key.role, before.key.role);

/** The person gives up the work that a page holds, instead of logging in again. */
export function giveUp(): void {
  const last = session.get();
  if (last.state === "in") session.set({ state: "out", reason: last.ended });
}

/** Pages go first: what they read meanwhile would be refused. */
export async function logOut(): Promise<void> {
  const before = session.get();
  session.set({ state: "unknown" });
  try {
    await api("DELETE", "/console/session", undefined, { isRead: true });
  } catch (error) {
    // What this browser is logged in with by now is another tab's, and stays.
    const isOfOther = error instanceof ApiError && error.problem.code === "unauthenticated";
    session.set(isOfOther ? { state: "out", reason: error.problem.detail } : before);
    if (isOfOther) return;
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
