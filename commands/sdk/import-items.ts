import { invalidParameter } from "../../core/errors.js";
import type { KeyId } from "../../core/ids.js";
import type { Envelope } from "../../core/sdk/envelope.js";
import type { Caller, Services } from "../services.js";
import { createAcceptItems, type AcceptServices, type SdkAcceptance } from "./accept-items.js";

export interface SdkArchive {
  readonly bytes: Buffer;
  readonly envelope: Envelope;
  /** The key whose calls these are: those that came with it before are the same events. Null: the caller's. */
  readonly sender: KeyId | null;
}

/** Accepts calls that were sent long ago, maybe here. */
export function createImportItems(services: AcceptServices) {
  const acceptItems = createAcceptItems(services);
  return async (caller: Caller, { sender, ...sent }: SdkArchive): Promise<SdkAcceptance> => {
    const as = sender === null ? caller.sender : await senderOf(services, caller, sender);
    return acceptItems({ ...caller, sender: as }, { ...sent, type: null, isArchive: true });
  };
}

/** Ids of events come from the first of a row of rotated keys. */
async function senderOf({ catalog }: Pick<Services, "catalog">, { workspace }: Caller, keyId: KeyId): Promise<KeyId> {
  const key = await catalog.findKey(keyId);
  if (key === null || key.workspace !== workspace)
    throw invalidParameter("sender", "must be the id of a key of this workspace");
  return key.sender;
}
