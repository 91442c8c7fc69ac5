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

/** Of the facets that were asked for. */
export interface SomeFacets {
  readonly found: ReadonlyMap<Uid, StoredFacet>;
  /** So many of the identifiers were looked at, from the first; all, or at least one. */
  readonly looked: number;
}

export interface ProfileStore extends Port {
  /** The facets that exist, of these identifiers. A facet may be large, so this is for few of them. */
  find(workspace: WorkspaceId, uids: readonly Uid[]): Promise<ReadonlyMap<Uid, StoredFacet>>;
  /** The same of the first of them: it ends with the one that takes their text over so many bytes. */
  findSome(workspace: WorkspaceId, uids: readonly Uid[], bytesMax: number): Promise<SomeFacets>;
  /** Saves each facet if its rev is still the expected one; answers, in order, false for each lost race. */
  save(workspace: WorkspaceId, saves: readonly FacetSave[]): Promise<readonly boolean[]>;
  /** Removes the facets, durably; answers how many were there. A save that expects one of them loses. */
  remove(workspace: WorkspaceId, uids: readonly Uid[]): Promise<number>;
}
