import type { KillPoint } from "../crash/points.js";

/** What the parent hands to the service under drill. */
export interface Start {
  /** Of the service, by the names of their variables. */
  readonly settings: Readonly<Record<string, string>>;
  readonly kill: KillPoint | null;
}

export type Question = "depth" | "loopDelay";

/** Parent to child, over IPC. `aim` names where it is to die, `close` asks for the orderly stop. */
export type ToChild =
  | { readonly kind: "ask"; readonly question: Question }
  | { readonly kind: "aim"; readonly kill: KillPoint }
  | { readonly kind: "close" };

/** Child to parent. */
export type FromChild =
  | { readonly kind: "ready"; readonly url: string; readonly ownerKey: string | null }
  | { readonly kind: "answer"; readonly question: Question; readonly value: number };
