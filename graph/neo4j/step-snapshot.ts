import type { WorkspaceId } from "../../core/ids.js";
import type { Component, Picture, Want } from "../../core/identity/model.js";
import { ANNEXED } from "./cypher/staging.js";
import type { Step } from "./client.js";
import { lookParameters, lookupsOfWant, pictureOf, sightOf } from "./snapshot.js";
import { hasRules, seeWithRules } from "./rules-snapshot.js";
import { LOCK_AND_LOOK, LOCK_AND_RULES, LOOK, RULES } from "./cypher/writes.js";

export interface StepSight {
  readonly picture: Picture;
  /** Which of its components have annexes. */
  readonly annexed: () => Promise<ReadonlySet<Component>>;
}

/** Takes the lock, unless told not to, and looks. */
export async function seeInStep(step: Step, ws: WorkspaceId, want: Want, locks: boolean): Promise<StepSight> {
  if (hasRules(want)) {
    const { picture, annexed } = await seeWithRules(step.run, locks ? LOCK_AND_RULES : RULES, ws, want);
    return { picture, annexed: async () => annexed };
  }
  const lookups = lookupsOfWant(ws, want);
  const q = { ws, ...lookParameters(lookups) };
  const picture = pictureOf(lookups, sightOf(await step.run(locks ? LOCK_AND_LOOK : LOOK, q)));
  // The cheap look does not tell.
  const annexed = async () => {
    const rows = await step.run(ANNEXED, { ids: [...picture.components.keys()] });
    return new Set(rows.map(([id]) => id as Component));
  };
  return { picture, annexed };
}
