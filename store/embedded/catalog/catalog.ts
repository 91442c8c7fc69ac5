import { randomBytes } from "node:crypto";
import type { Database } from "../../../core/database.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { createDatasets } from "./datasets.js";
import { createKeys } from "./keys.js";
import { createNamespaces } from "./namespaces.js";
import { createSchemas } from "./schemas.js";
import { createSession } from "../session.js";

const SECRET_BYTES = 32;

/** What clients register, and who they are. */
export function createEmbeddedCatalog({ database }: { readonly database: Database }): CatalogStore {
  const session = createSession(database);
  const makeSecret = database.prepare("INSERT INTO secrets (id, secret) VALUES (1, ?) ON CONFLICT (id) DO NOTHING");
  const secret = database.prepare("SELECT secret FROM secrets");
  return {
    secret: () =>
      session.write(() => {
        makeSecret.run([randomBytes(SECRET_BYTES)]);
        return secret.get([])![0] as Buffer;
      }),
    ...createKeys(database, session),
    ...createSchemas(database, session),
    ...createDatasets(database, session),
    ...createNamespaces(database, session),
    ready: session.ready,
    close: session.close,
  };
}
