import type { Client } from "../../shared/client.js";
import type { Site } from "../process/site.js";

/** Everything that breaks a promise, in words. */
export interface Findings {
  /** Acknowledged, and not there or not as it was sent. */
  lost(what: string): void;
  /** There more than once. */
  duplicated(what: string): void;
  /** Anything else that the contract does not allow. */
  unexpected(what: string): void;
  readonly counts: () => Readonly<Record<Kind, number>>;
  /** The first of each kind. */
  readonly examples: () => readonly string[];
}
/** What every check works with. */
export interface CheckDeps {
  readonly client: Client;
  readonly sites: readonly Site[];
  readonly findings: Findings;
  /** Requests at a time. */
  readonly width: number;
}

type Kind = "lost" | "duplicated" | "unexpected";

const EXAMPLES_MAX = 10;

export function createFindings(): Findings {
  const counts: Record<Kind, number> = { lost: 0, duplicated: 0, unexpected: 0 };
  const examples: string[] = [];
  const add = (kind: Kind) => (what: string) => {
    counts[kind] += 1;
    if (counts[kind] <= EXAMPLES_MAX) examples.push(`${kind}: ${what}`);
  };
  return {
    lost: add("lost"),
    duplicated: add("duplicated"),
    unexpected: add("unexpected"),
    counts: () => counts,
    examples: () => examples,
  };
}
