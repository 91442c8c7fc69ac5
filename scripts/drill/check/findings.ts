import type { Client } from "../../shared/client.js";
import type { Site } from "../process/site.js";

/** What every check works with. */
export interface CheckDeps {
  readonly client: Client;
  readonly sites: readonly Site[];
  readonly findings: Findings;
  /** Requests at a time. */
  readonly width: number;
}

export type Findings = ReturnType<typeof createFindings>;

const EXAMPLES_MAX = 10;

interface Others {
  readonly counts: () => Readonly<Record<"lost" | "duplicated" | "unexpected", number>>;
  readonly examples: () => readonly string[];
}

/** Everything that breaks a promise, in words. */
export function createFindings() {
  const counts = { lost: 0, duplicated: 0, unexpected: 0 };
  const examples: string[] = [];
  const count =
    (kind: keyof typeof counts) =>
    (what: string): void => {
      counts[kind] += 1;
      if (counts[kind] <= EXAMPLES_MAX) examples.push(`${kind}: ${what}`);
    };
  return {
    /** Acknowledged, and not there or not as it was sent. */
    lost: count("lost"),
    /** There more than once. */
    duplicated: count("duplicated"),
    /** Anything else that the contract does not allow. */
    unexpected: count("unexpected"),
    /** What others found. */
    add: ({ counts: own, examples: theirs }: Others): void => {
      for (const kind of ["lost", "duplicated", "unexpected"] as const) counts[kind] += own()[kind];
      examples.push(...theirs());
    },
    counts: (): Readonly<typeof counts> => counts,
    /** The first of each kind. */
    examples: (): readonly string[] => examples,
  };
}
