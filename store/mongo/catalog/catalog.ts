import { randomBytes } from "node:crypto";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { createBackfills } from "./backfills.js";
import { createChangeCatalog } from "./change.js";
import { createDatasets } from "./datasets.js";
import type { CatalogDocument, VersionDocument } from "./document.js";
import { createImports } from "./imports.js";
import { createKeys } from "./keys.js";
import { createNamespaces } from "./namespaces.js";
import { createSdk } from "./sdk.js";
import { createSchemas } from "./schemas.js";
import { isDuplicateKey } from "../failure.js";
import type { Mongo } from "../open.js";
import { createSession, type Session } from "../session.js";
import { createTime } from "./time.js";

/**
 * What clients register, and who they are: one document per workspace in `catalog`, changed by compare and swap, beside the texts
 * of schemas in `schema_versions` and what belongs to the installation in `settings`. Makes its index if it is not there.
 */
export async function createMongoCatalog({ mongo }: { readonly mongo: Mongo }): Promise<CatalogStore> {
  const session = createSession(mongo);
  const catalog = mongo.db.collection<CatalogDocument>("catalog");
  const versions = mongo.db.collection<VersionDocument>("schema_versions");
  const change = createChangeCatalog({ catalog, session });
  // Finds a key whose workspace is not known yet, and lets no two workspaces have the same key id.
  await session.call(() => catalog.createIndex({ key_ids: 1 }, { name: "key_ids", unique: true }));
  const backfills = await createBackfills(mongo, session);
  return {
    secret: () => secretOf(mongo, session),
    ...createTime(mongo, session),
    ...createKeys({ catalog, session, change }),
    ...createSchemas({ catalog, versions, session, change }),
    ...createDatasets({ catalog, session, change }),
    ...backfills,
    ...createNamespaces({ catalog, session, change }),
    ...createSdk({ catalog, session, change }),
    ...createImports({ catalog, session, change }),
    ready: session.ready,
    close: session.close,
  };
}

interface SecretDocument {
  readonly _id: "secret";
  readonly secret: Buffer;
}
const SECRET_BYTES = 32;

/** Every process inserts one; the first stays. A later insert is acknowledged no sooner than the first. */
async function secretOf({ db }: Mongo, { call }: Session): Promise<Buffer> {
  const settings = db.collection<SecretDocument>("settings");
  const made = randomBytes(SECRET_BYTES);
  try {
    await call(() => settings.insertOne({ _id: "secret", secret: made }));
    return made;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return (await call(() => settings.findOne({ _id: "secret" })))!.secret;
  }
}
