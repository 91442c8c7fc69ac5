import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { Tombstone } from "../../core/identity/tombstone.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";
import { readIdentifiers } from "./erase.js";

export interface Checked {
  /** As it was asked for. */
  readonly identifier: Identifier;
  readonly tombstone: Tombstone | null;
  /** It is in a profile, maybe because the person came back. */
  readonly isKnown: boolean;
}

/** Which erasure covers each of them, in order. */
export async function checkErased(
  services: Pick<Services, "catalog" | "identity" | "erasures">,
  workspace: WorkspaceId,
  asked: readonly Identifier[],
): Promise<readonly Checked[]> {
  const stored = await readIdentifiers(services, workspace, asked);
  const keys = stored.map((one) => identifierKey(workspace, one));
  const [tombstones, refs] = await Promise.all([
    services.erasures.tombstones(workspace, keys),
    services.identity.lookup(workspace, stored),
  ]);
  return asked.map((identifier, n) => ({
    identifier,
    tombstone: tombstones.get(keys[n]!) ?? null,
    isKnown: refs[n] !== null,
  }));
}
