import neo4j, { type Driver } from "neo4j-driver";
import type { WorkspaceId } from "../core/ids.js";
import { DATABASE, type Parameters } from "./neo4j-client.js";
import { writeParameters } from "./neo4j-plan.js";
import * as statements from "./neo4j-statements.js";

/** Nobody waits for it, and planning takes long on a busy machine. */
const PLAN_MS = 60_000;
const NOWHERE = "warm-up" as WorkspaceId;

const NOTHING = {
  ...writeParameters(NOWHERE, { components: [], creates: [], links: [], changes: [] }),
  keys: [],
  pairs: [],
  uids: [],
  uid: "",
  change: "",
  limit: 1,
  after: "",
} satisfies Parameters;

/** All that the hot paths say. */
const HOT = [
  statements.LOOK,
  statements.LOCK_AND_LOOK,
  statements.WRITE,
  statements.WRITE_NEW,
  statements.RESOLVE,
  statements.LOCK,
  statements.FIND_CHANGE,
  statements.WHOLE_PROFILE,
  statements.PAGE_OF_MEMBERS,
];

/**
 * Has the server plan each statement once, on nothing, and takes it back. A server that was started just now needs seconds for
 * that on a busy machine, longer than a caller's transaction may last; each try of his would begin anew. Never rejects.
 */
export async function warmUp(driver: Driver): Promise<void> {
  const session = driver.session({ database: DATABASE, defaultAccessMode: neo4j.session.WRITE });
  try {
    for (const statement of HOT) {
      const transaction = await session.beginTransaction({ timeout: PLAN_MS });
      await transaction.run(statement, { q: NOTHING });
      await transaction.rollback();
    }
  } catch {
    // Those who ask find out what is wrong, and their tries plan too.
  } finally {
    await session.close().catch(() => undefined);
  }
}
