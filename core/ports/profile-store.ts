import type { Uid, WorkspaceId } from "../ids.js";
import type { Folded } from "../profile/fold-events.js";
import type { Port } from "./port.js";

export interface StoredFacet extends Folded {
  /** 1 after the first save; 0 stands for "none yet". */
  readonly rev: number;
}

export interface FacetSave extends Folded {
  readonly uid: Uid;
  readonly expectedRev: number;
}

export interface ProfileStore extends Port {
  /** The facets that exist, of these identifiers. */
  find(workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlyMap<Uid, StoredFacet>>;
  /** Saves each facet if its rev is still the expected one; answers, in order, false for each lost race. */
  save(workspace: WorkspaceId, saves: readonly FacetSave[]): Promise<readonly boolean[]>;
  /** Removes the facets, durably; answers how many were there. A save that expects one of them loses. */
  remove(workspace: WorkspaceId, uids: readonly Uid[]): Promise<number>;
}
