import { randomBytes } from "node:crypto";
import type { Database, Tables } from "../../../core/database.js";
import type { CatalogStore, TimeKept } from "../../../core/ports/catalog-store.js";
import { createBackfills } from "./backfills.js";
import { createDatasets } from "./datasets.js";
import { createImports } from "./imports.js";
import { createKeys } from "./keys.js";
import { createNamespaces } from "./namespaces.js";
import { createSdk } from "./sdk.js";
import { createSchemas } from "./schemas.js";
import { createTables } from "../schema.js";
import { createSession } from "../session.js";

const SECRET_BYTES = 32;
const CLOCK_TABLE: Tables = {
  part: "clock",
  format: 3,
  sql: `CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1), ms INTEGER NOT NULL, sure_ms INTEGER NOT NULL, waited_ms INTEGER NOT NULL
  )`,
};

/** What clients register, and who they are. */
export function createEmbeddedCatalog({ database }: { readonly database: Database }): CatalogStore {
  const session = createSession(database);
  createTables(database, CLOCK_TABLE);
  const keep = database.prepare("INSERT OR REPLACE INTO clock (id, ms, sure_ms, waited_ms) VALUES (1, ?, ?, ?)");
  const latest = database.prepare("SELECT ms, sure_ms, waited_ms FROM clock");
  const kept = (): Omit<TimeKept, "beats"> => {
    const [ms, sureMs, waitedMs] = latest.get([]) ?? [];
    return { ms: Number(ms ?? 0), sureMs: Number(sureMs ?? 0), waitedMs: Number(waitedMs ?? 0) };
  };
  /** In memory: the file has one process. */
  let beats = 0;
  const makeSecret = database.prepare("INSERT INTO secrets (id, secret) VALUES (1, ?) ON CONFLICT (id) DO NOTHING");
  const secret = database.prepare("SELECT secret FROM secrets");
  return {
    secret: () =>
      session.write(() => {
        makeSecret.run([randomBytes(SECRET_BYTES)]);
        return secret.get([])![0] as Buffer;
      }),
    advanceTime: (ms, believable, sure) =>
      session.write(() => {
        beats += 1;
        const before = kept();
        const after = before.ms >= ms && before.ms <= believable ? before.ms : ms;
        const { sureMs, waitedMs } = { ...before, ...sure };
        keep.run([after, sureMs, waitedMs]);
        return after;
      }),
    timeKept: () => session.read(() => ({ ...kept(), beats })),
    ...createKeys(database, session),
    ...createSchemas(database, session),
    ...createDatasets(database, session),
    ...createBackfills(database, session),
    ...createNamespaces(database, session),
    ...createSdk(database, session),
    ...createImports(database, session),
    ready: session.ready,
    close: session.close,
  };
}
