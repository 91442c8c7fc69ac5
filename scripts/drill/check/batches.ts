import { keyIdOf } from "../../../core/catalog/api-key.js";
import { eventIdFor } from "../../../core/ids.js";
import { each } from "../../shared/async.js";
import type { BatchOperation } from "../load/batch.js";
import type { CheckDeps } from "./findings.js";
import type { History } from "./history.js";

/** Atomic batches that got no answer, by what is there of them. */
export interface Unanswered {
  readonly whole: number;
  readonly none: number;
}

/** An atomic batch that got no answer is there as a whole or not at all. */
export async function checkBatches(deps: CheckDeps, history: History): Promise<Unanswered> {
  let [whole, none] = [0, 0];
  await each(history.unansweredAtomic(), deps.width, async (batch) => {
    const found = await countStored(deps, batch);
    if (found === batch.events.length) whole += 1;
    else if (found === 0) none += 1;
    else
      deps.findings.unexpected(`${batch.idempotencyKey}: ${found} of ${batch.events.length} events of an atomic batch`);
  });
  return { whole, none };
}

async function countStored({ client, sites }: CheckDeps, batch: BatchOperation): Promise<number> {
  const { workspace, key } = sites[batch.site]!;
  let found = 0;
  for (const index of batch.events.keys()) {
    const eventId = eventIdFor(workspace, keyIdOf(key)!, `${batch.idempotencyKey}/${index}`);
    const { status } = await client.send({ method: "GET", path: `/v1/events/${eventId}`, key });
    if (status === 200) found += 1;
  }
  return found;
}
