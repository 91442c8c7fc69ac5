import type { ChangeId, IdentifierKey, Uid } from "../ids.js";
import type { Component, HiddenKey, KeyPair, PairKey, ProfileRef, Summary } from "./model.js";
import type { Tombstone } from "./tombstone.js";

/** What a decision has to look at: the identifiers, and the pairs of them whose link matters. */
export interface ReadSet {
  readonly keys: readonly IdentifierKey[];
  readonly pairs: readonly KeyPair[];
}

/** Also with what the rules need, which costs more to read. */
export interface RulesReadSet extends ReadSet {
  readonly rules: {
    /** Namespaces whose values count for `seenWith`; empty when nobody asks. */
    readonly limited: readonly string[];
    /** Read at most this many of `seenWith`. */
    readonly seenWithMax: number;
    /** An identifier of which it is asked whether it still has the mark of this unlink. Only who reverts one asks. */
    readonly mark?: { readonly key: IdentifierKey; readonly by: ChangeId };
  };
}

/** As it is shown without what the rules need. */
export interface PlainIdentifier {
  readonly uid: Uid;
  readonly component: Component;
  /** It is marked as a shared identifier. */
  readonly isShared: boolean;
  /** It was erased before and came back; absent otherwise. */
  readonly isReturned?: true;
}

export interface SeenIdentifier extends PlainIdentifier {
  /** When it was last unlinked, milliseconds since 1970; older assertions do not count. Null: never. */
  readonly unlinkedAt: number | null;
  /** It has the mark that `RulesReadSet.rules.mark` asks for; absent otherwise. */
  readonly hasMark?: true;
  /**
   * Values of limited namespaces that it was seen with: those linked to it now, and those that a rule kept apart from it. Keys of the
   * read set as they are, all others as `HiddenKey`.
   */
  readonly seenWith: readonly (IdentifierKey | HiddenKey)[];
}

export interface SeenComponent extends Summary, ProfileRef {
  /** Higher after each step that wrote anything of the component or its links; by `REMOVAL_REV` at least when links went. */
  readonly rev: number;
}

/** What the graph holds of a read set. What does not exist, or was erased, is absent. */
export interface PlainSnapshot {
  readonly identifiers: ReadonlyMap<IdentifierKey, PlainIdentifier>;
  readonly components: ReadonlyMap<Component, ProfileRef>;
  /** The pairs of the read set that have an active link. */
  readonly linked: ReadonlySet<PairKey>;
}

/** Also with what the rules need. */
export interface Snapshot extends PlainSnapshot {
  readonly identifiers: ReadonlyMap<IdentifierKey, SeenIdentifier>;
  readonly components: ReadonlyMap<Component, SeenComponent>;
  /** The pairs of the read set whose link was removed. */
  readonly removed: ReadonlyMap<PairKey, RemovedLink>;
  /** Of those keys that were erased at any time, also if they came back. */
  readonly tombstones: ReadonlyMap<IdentifierKey, Tombstone>;
}

/** What a read of the set shows. */
export type SnapshotOf<Asked extends ReadSet> = Asked extends RulesReadSet ? Snapshot : PlainSnapshot;

export interface RemovedLink {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly by: ChangeId;
}
