import type { WorkspaceId } from "../../core/ids.js";
import type { Component, Snapshot, ReadSet } from "../../core/identity/model.js";
import { ANNEXED } from "./cypher/staging.js";
import type { Step } from "./client.js";
import { lookParameters, lookupsOfWant, snapshotOf, sightOf } from "./snapshot.js";
import { hasRules, seeWithRules } from "./rules-snapshot.js";
import { LOCK_AND_LOOK, LOCK_AND_RULES, LOOK, RULES } from "./cypher/writes.js";

export interface StepSight {
  readonly snapshot: Snapshot;
  /** Which of its components have annexes. */
  readonly annexed: () => Promise<ReadonlySet<Component>>;
}

/** Takes the lock, unless told not to, and looks. */
export async function seeInStep(step: Step, ws: WorkspaceId, want: ReadSet, locks: boolean): Promise<StepSight> {
  if (hasRules(want)) {
    const { snapshot, annexed } = await seeWithRules(step.run, locks ? LOCK_AND_RULES : RULES, ws, want);
    return { snapshot, annexed: async () => annexed };
  }
  const lookups = lookupsOfWant(ws, want);
  const q = { ws, ...lookParameters(lookups) };
  const snapshot = snapshotOf(lookups, sightOf(await step.run(locks ? LOCK_AND_LOOK : LOOK, q)));
  // The cheap look does not tell.
  const annexed = async () => {
    const rows = await step.run(ANNEXED, { ids: [...snapshot.components.keys()] });
    return new Set(rows.map(([id]) => id as Component));
  };
  return { snapshot, annexed };
}
