import type { Client } from "../../shared/client.js";
import type { Wire } from "./wire.js";

/** The workspace that floods, with keys of its roles. */
export interface FloodSite {
  readonly url: string;
  readonly owner: string;
  readonly viewer: string;
  /** May only send. */
  readonly sender: string;
}

/** One way to do one's worst. */
export interface Flood {
  readonly name: string;
  /** Makes what the flood needs; what it answers is handed to `run`. */
  readonly prepare?: (client: Client, site: FloodSite) => Promise<readonly string[]>;
  /** Begins; the wire ends it. */
  readonly run: (wire: Wire, site: FloodSite, prepared: readonly string[]) => void;
}

/** Numbers that are new in this process. */
let used = 0;
export const fresh = (): number => (used += 1);

/** One after the other, and again from the first. */
export function cycle(all: readonly string[]): () => string {
  let next = 0;
  return () => all[next++ % all.length]!;
}
