import { setTimeout as sleep } from "node:timers/promises";
import { whole, type Client } from "./client.js";
import { inStep } from "./step.js";

/** Of what is stored. In the one before, changes did not say whom they are about. */
const VERSION = 2;

const STORED_VERSION = "MATCH (v:Onym {name: 'identity graph'}) USING INDEX SEEK v:Onym(name) RETURN v.version";

/** Some changes more, by age; those that a process of this version wrote are told again what they say already. */
const UPGRADE_PART = `
MERGE (v:Onym {name: 'identity graph'})
WITH v, coalesce(v.upgraded, '') AS after
CALL (after) {
  MATCH (c:Change) USING INDEX SEEK c:Change(id)
  WHERE c.id > after
  WITH c
  ORDER BY c.id
  LIMIT toInteger($q.limit)
  RETURN collect(c) AS found
}
SET v.upgraded = coalesce(last(found).id, v.upgraded), v.version = CASE WHEN size(found) < $q.limit THEN $q.version END
WITH found
CALL (found) {
  UNWIND found AS c
  UNWIND c.identifiers AS name
  MATCH (i:Identifier {key: c.ws + ':' + name}) USING INDEX SEEK i:Identifier(key)
  MERGE (c)-[:ABOUT]->(i)
}
CALL (found) {
  UNWIND found AS c
  UNWIND c.before + c.after AS uid
  MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
  MERGE (c)-[:ABOUT]->(i)
}
RETURN size(found)`;

const PART_CHANGES = 500;
const FAILURES_MAX = 10;
/** Others are to come in between. */
const PAUSE_MS = 20;

/**
 * Brings a graph that the version before wrote up to this one, part by part, while it is in use. All else that is not there is coped
 * with as it is read. Never fails: the next start goes on with what is left.
 */
export async function upgrade(client: Client): Promise<void> {
  for (let failures = 0; failures < FAILURES_MAX;)
    try {
      if (await isCurrent(client)) return;
      await upgradePart(client);
      await sleep(PAUSE_MS, undefined, { ref: false });
    } catch {
      failures += 1;
      await sleep(PAUSE_MS * 2 ** failures, undefined, { ref: false });
    }
}

async function isCurrent(client: Client): Promise<boolean> {
  const [row] = await client.read(STORED_VERSION, {});
  return row?.[0] === VERSION;
}

const upgradePart = (client: Client): Promise<void> =>
  inStep(client, async (step) => {
    await step.run(UPGRADE_PART, { limit: whole(PART_CHANGES), version: whole(VERSION) });
    await step.commit();
  });
