import { identifierKey } from "../../../core/event/event.js";
import { AppError } from "../../../core/errors.js";
import type { IdentifierKey, Uid } from "../../../core/ids.js";
import { pairKey } from "../../../core/identity/model.js";
import type { GraphRows, LinkRow } from "../../../core/ports/copying.js";
import { changeParameters, sourceOf } from "../changes.js";
import { type Client, type Parameters, whole } from "../client.js";
import { erasureParameters } from "../erasure/rows.js";
import * as cypher from "../cypher/copy.js";
import { markParameters } from "../marks.js";
import { withOneRetry } from "../failure.js";
import { linkKey } from "../snapshot.js";

export interface Load {
  readonly statement: string;
  readonly q: Parameters;
  /** So many rows the statement answers if all that they name stands. */
  readonly count: number;
}

type Loads = {
  readonly [K in keyof GraphRows]: (client: Client, rows: readonly GraphRows[K][]) => Promise<Load>;
};

export async function loadsOf<K extends keyof GraphRows>(
  client: Client,
  kind: K,
  rows: readonly GraphRows[K][],
): Promise<readonly Load[]> {
  return rows.length === 0 ? [] : [await LOADS[kind](client, rows)];
}

const LOADS: Loads = {
  changes: async (_, rows) => {
    const changes = rows.map(({ workspace, change }) => ({
      ...changeParameters(workspace, change, () => undefined),
      ws: workspace,
      about: [],
    }));
    return { statement: cypher.LOAD_CHANGES, q: { changes }, count: rows.length };
  },
  profiles: async (_, rows) => {
    const profiles = rows.map(({ workspace, profileId, size, rev, counts, forbidden }) => ({
      ws: workspace,
      id: profileId,
      size: whole(size),
      rev: whole(rev),
      counts: JSON.stringify(Object.fromEntries(counts)),
      forbidden: forbidden.length === 0 ? null : forbidden,
    }));
    return { statement: cypher.LOAD_PROFILES, q: { profiles }, count: rows.length };
  },
  identifiers: async (_, rows) => {
    const identifiers = rows.map(
      ({ workspace, uid, identifier, profileId, unlinkMarks, isShared, isReturned, seenWith }) => ({
        key: identifierKey(workspace, identifier),
        uid,
        ws: workspace,
        ns: identifier.namespace,
        value: identifier.value,
        profile: profileId,
        unlinked: markParameters(unlinkMarks),
        is_shared: isShared,
        is_returned: isReturned,
        seen_with: seenWith.length === 0 ? null : seenWith,
      }),
    );
    return { statement: cypher.LOAD_IDENTIFIERS, q: { identifiers }, count: rows.length };
  },
  links: async (client, rows) => {
    const keyOf = await keysOf(client, rows);
    const links = rows.map(({ from, to, changeId, evidence, by, removedAt }) => ({
      from,
      to,
      key: linkKey(pairKey(keyOf(from), keyOf(to))),
      change: changeId,
      ...sourceOf(evidence),
      key_id: evidence.keyId,
      at: whole(evidence.at),
      by,
      removed_at: removedAt === null ? null : whole(removedAt),
    }));
    return { statement: cypher.LOAD_LINKS, q: { links }, count: rows.length };
  },
  forbiddenPairs: async (_, rows) => {
    const pairs = rows.map(({ workspace, pair: { forbiddenPairId, from, to, changeId, keyId, at } }) => ({
      id: forbiddenPairId,
      ws: workspace,
      from: identifierKey(workspace, from),
      to: identifierKey(workspace, to),
      change: changeId,
      key_id: keyId,
      at: whole(at),
    }));
    return { statement: cypher.LOAD_FORBIDDEN_PAIRS, q: { pairs }, count: rows.length };
  },
  subjects: async (_, rows) => {
    const subjects = rows.map(({ changeId, uid }) => ({ change: changeId, uid }));
    return { statement: cypher.LOAD_SUBJECTS, q: { subjects }, count: rows.length };
  },
  erasures: async (_, rows) => {
    const erasures = rows.map(({ erasure, counts }) =>
      erasureParameters({ ...erasure, identifiers: new Map(counts) }, []),
    );
    return { statement: cypher.LOAD_ERASURES, q: { erasures }, count: rows.length };
  },
  tombstones: async (_, rows) => {
    const tombstones = rows.map(({ workspace, erasureId, tomb, uid }) => ({ ws: workspace, id: erasureId, tomb, uid }));
    return { statement: cypher.LOAD_TOMBSTONES, q: { tombstones }, count: rows.length };
  },
  mentions: async (_, rows) => {
    const mentions = rows.map(({ changeId, tomb }) => ({ change: changeId, tomb }));
    return { statement: cypher.LOAD_MENTIONS, q: { mentions }, count: rows.length };
  },
  watched: async (_, rows) => {
    const workspaces = rows.map(({ workspace }) => workspace);
    return { statement: cypher.LOAD_WATCHED, q: { workspaces }, count: rows.length };
  },
  moved: async (_, rows) => {
    const moved = rows.map(({ workspace, moved: { movedId, cause, profileIds } }) => ({
      ws: workspace,
      id: movedId,
      cause,
      profiles: profileIds,
    }));
    return { statement: cypher.LOAD_MOVED, q: { moved }, count: rows.length };
  },
};

/** A link's name is made of the keys of its ends. */
async function keysOf(client: Client, rows: readonly LinkRow[]): Promise<(uid: Uid) => IdentifierKey> {
  const uids = [...new Set(rows.flatMap(({ from, to }) => [from, to]))];
  const found = await withOneRetry(() => client.read(cypher.KEYS, { uids }));
  const keys = new Map(found as readonly (readonly [Uid, IdentifierKey])[]);
  return (uid) => {
    const key = keys.get(uid);
    if (key === undefined) throw new AppError("conflict", "A row names an identifier that was not loaded.");
    return key;
  };
}
