import { identifierKey } from "../../../core/event/event.js";
import type { IdentifierKey, WorkspaceId } from "../../../core/ids.js";
import { pairKey, type Plan } from "../../../core/identity/model.js";
import { namesOf } from "../../../core/identity/names.js";
import { namedKeys } from "../../rules/subjects.js";
import type { Step } from "../client.js";
import { MARK_RETURNED, MENTION, TAKE_OUT, TAKE_OUT_LINKS } from "../cypher/erasure.js";
import { LIVING_KEYS } from "../cypher/tombstones.js";
import { linkKey, type Names, type RulesRead } from "../snapshot.js";
import { written } from "./tombstones.js";

type Seen = Pick<RulesRead, "snapshot" | "sealed" | "sealedLinks" | "hasErasures">;

/** Before the plan: sealed members leave their keys, and those of their links, to what it creates, and its records no longer name who was erased. */
export async function afterErasures(
  step: Step,
  ws: WorkspaceId,
  plan: Plan,
  seen: Seen,
  { tombOf }: Names,
): Promise<Plan> {
  const taken = plan.creates.filter(({ key }) => seen.sealed.has(key)).map(({ key }) => ({ key, tomb: tombOf(key) }));
  if (taken.length > 0) await step.run(TAKE_OUT, { taken });
  const pairs = plan.links.map(({ from, to }) => pairKey(from, to)).filter((pair) => seen.sealedLinks.has(pair));
  if (pairs.length > 0) await step.run(TAKE_OUT_LINKS, { pairs: pairs.map(linkKey) });
  if (plan.changes.length === 0 || !seen.hasErasures) return plan;
  const created = new Set(plan.creates.map(({ key }) => key));
  const isKnown = (key: IdentifierKey): boolean => created.has(key) || seen.snapshot.identifiers.has(key);
  return { ...plan, changes: await written(step.run, tombOf, ws, plan.changes, isKnown) };
}

/** After it: marks of those that came back, and names by which a record could not be found when one of them is erased. */
export async function writeTraces(
  step: Step,
  ws: WorkspaceId,
  plan: Plan,
  { snapshot }: Seen,
  { tombOf }: Names,
): Promise<void> {
  const returned = plan.creates.filter(({ isReturned }) => isReturned === true).map(({ key }) => key);
  if (returned.length > 0) await step.run(MARK_RETURNED, { keys: returned });
  const created = new Set(plan.creates.map(({ key }) => key));
  const isKnown = (key: IdentifierKey): boolean => created.has(key) || snapshot.identifiers.has(key);
  const unsure = plan.changes.flatMap((change) => {
    const subjects = new Set(namedKeys(ws, change));
    const keys = [...new Set(namesOf(change).map((one) => identifierKey(ws, one)))].filter(
      (key) => !subjects.has(key) || !isKnown(key),
    );
    return keys.length === 0 ? [] : { change: change.changeId, subjects, keys };
  });
  if (unsure.length === 0) return;
  const asked = [...new Set(unsure.flatMap(({ keys }) => keys))].filter((key) => !isKnown(key));
  const found = asked.length === 0 ? [] : await step.run(LIVING_KEYS, { ws, keys: asked });
  const living = new Set(found.map(([n]) => asked[n as number]!));
  const isLive = (key: IdentifierKey): boolean => isKnown(key) || living.has(key);
  const mentions = unsure
    .map(({ change, subjects, keys }) => ({
      change,
      tombs: keys.filter((key) => !(subjects.has(key) && isLive(key))).map(tombOf),
    }))
    .filter(({ tombs }) => tombs.length > 0);
  if (mentions.length > 0) await step.run(MENTION, { mentions });
}
