import type { Database } from "../../../core/database.js";
import type { Merge } from "../../../core/catalog/catalog.js";
import { registerTraits, type TraitName } from "../../../core/catalog/decide.js";
import { DEFAULT_SDK_CATALOG, type SdkCatalog } from "../../../core/catalog/sdk.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { SdkMethods as Methods } from "../../../core/ports/catalog-store.js";
import type { Session } from "../session.js";

/** What a workspace set for SDKs, its plan, and the names of its traits. */
export function createSdk(database: Database, session: Session): Methods {
  const find = database.prepare("SELECT sdk FROM sdk WHERE ws = ?");
  const put = database.prepare("INSERT OR REPLACE INTO sdk (ws, sdk) VALUES (?, ?)");
  const names = database.prepare("SELECT name, merge, registered_itself FROM traits WHERE ws = ?");
  const addName = database.prepare(
    "INSERT INTO traits (ws, name, merge, registered_itself) VALUES (?, ?, 'latest', 1)",
  );
  const sdkOf = (workspace: WorkspaceId): SdkCatalog => {
    const row = find.get([workspace]);
    return row === undefined ? DEFAULT_SDK_CATALOG : (JSON.parse(row[0] as string) as SdkCatalog);
  };
  const traitsOf = (workspace: WorkspaceId): ReadonlyMap<string, TraitName> =>
    new Map(names.all([workspace]).map((row) => toTrait(row as Row)));
  return {
    sdk: (workspace) => session.read(() => sdkOf(workspace)),
    changeSdk: (workspace, change) =>
      session.write(() => {
        const changed = change(sdkOf(workspace));
        put.run([workspace, JSON.stringify(changed)]);
        return changed;
      }),
    traits: (workspace) => session.read(() => traitsOf(workspace)),
    registerTraits: (workspace, given, max) =>
      session.write(() => {
        const standing = traitsOf(workspace);
        const added = new Set(registerTraits(standing, given, max));
        for (const name of added) addName.run([workspace, Buffer.from(name)]);
        return given.filter((name) => added.has(name) || standing.get(name)?.merge === "latest");
      }),
  };
}

type Row = readonly [name: Buffer, merge: Merge, registeredItself: number];
const toTrait = ([name, merge, registeredItself]: Row): readonly [string, TraitName] => [
  name.toString(),
  { merge, registeredItself: registeredItself === 1 },
];
