import { isDeepStrictEqual } from "node:util";
import { bodyOf } from "../load/client.js";
import type { CheckDeps } from "./findings.js";
import { each } from "../load/each.js";
import type { Entry } from "./history.js";
import type { EventOperation } from "../load/operation.js";

interface ShownEvent {
  readonly status: string;
  readonly schema_id: string;
  readonly timestamp: string;
  readonly payload: unknown;
}

/** Every acknowledged event must come back as it was sent, folded if it folds. Answers how many do. */
export async function checkEvents(deps: CheckDeps, entries: readonly Entry[]): Promise<ReadonlySet<number>> {
  const sound = new Set<number>();
  await each(entries, deps.width, async ({ operation, result, eventId }) => {
    if (operation.kind !== "event" || result !== "acknowledged") return;
    const problem = await problemOf(deps, operation, eventId!);
    if (problem === null) sound.add(operation.id);
    else deps.findings.lost(`operation ${operation.id}, event ${eventId}: ${problem}`);
  });
  return sound;
}

async function problemOf(
  { client, sites }: CheckDeps,
  operation: EventOperation,
  eventId: string,
): Promise<string | null> {
  const { key } = sites[operation.site]!;
  const answer = await client.send({ method: "GET", path: `/v1/events/${eventId}`, key });
  if (answer.status !== 200) return `GET answers ${answer.status}`;
  const shown = bodyOf(answer) as ShownEvent;
  const wanted = operation.folds ? "folded" : "stored";
  if (shown.status !== wanted) return `is ${shown.status} and not ${wanted}`;
  if (shown.schema_id !== operation.schemaId || shown.timestamp !== operation.timestamp) return "is of another event";
  // As it went over the wire: JSON leaves out what is undefined.
  const { payload } = JSON.parse(operation.body) as { readonly payload: unknown };
  return isDeepStrictEqual(shown.payload, payload) ? null : "its payload differs";
}
