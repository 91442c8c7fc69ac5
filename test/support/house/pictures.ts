import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import {
  forbiddenPairIdFor,
  type ChangeId,
  type EventId,
  type IdentifierKey,
  type KeyId,
  type Uid,
  type WorkspaceId,
} from "../../../core/ids.js";
import { pairKey, type PairKey, type Rules, type Source } from "../../../core/identity/model.js";
import type { Snapshot, SeenComponent } from "../../../core/identity/snapshot.js";
import type { Request } from "../../../graph/rules/assert.js";

/** `u:ann` is a user id, `d:tab` a device; several stand in one text, with spaces between them. */
export type Names = string;
export const WORKSPACE = "11111111-1111-4111-8111-111111111111" as WorkspaceId;
const NAMESPACES: Readonly<Record<string, string>> = { u: "user_id", e: "email", d: "device_id", c: "cookie_id" };
const PRIORITIES: Readonly<Record<string, number>> = { user_id: 4, email: 3, device_id: 2, cookie_id: 1 };

export const namesOf = (names: Names): readonly string[] => names.split(" ").filter((name) => name !== "");
export function identifierNamed(name: string): Identifier {
  const [letter, value] = name.split(":");
  return { namespace: NAMESPACES[letter!]!, value: value! };
}
export const nameOf = ({ namespace, value }: Identifier): string => `${namespace[0]}:${value}`;
export const keyOf = (name: string): IdentifierKey => identifierKey(WORKSPACE, identifierNamed(name));
/** The order of ids is that of names. */
export const uidOf = (name: string): Uid => `uid ${name}` as Uid;
export const pairOf = (pair: Names): PairKey => {
  const [one, other] = namesOf(pair);
  return pairKey(keyOf(one!), keyOf(other!));
};
export const pairsOf = (names: readonly string[]): readonly Names[] =>
  names.flatMap((one, i) => names.slice(i + 1).map((other) => `${one} ${other}`));

export const rulesWith = (
  limits: Readonly<Record<string, number>> = {},
  sharedIdentifierLimit: number | null = null,
): Rules => ({
  limits: new Map(Object.entries(limits)),
  sharedIdentifierLimit,
  priorityOf: (namespace) => PRIORITIES[namespace] ?? 0,
  isPerson: (namespace) => namespace === "user_id" || namespace === "email",
});

/** What stands before a request. */
export interface World {
  /** Each text is a profile; all its pairs are linked. */
  readonly profiles?: readonly Names[];
  readonly forbiddenPairs?: readonly Names[];
  /** Pair -> when its link was taken back. */
  readonly removed?: Readonly<Record<Names, number>>;
  /** Identifier -> when it was unlinked. */
  readonly unlinked?: Readonly<Record<string, number>>;
  /** Identifier -> what it was sent with. */
  readonly seenWith?: Readonly<Record<string, Names>>;
}

export function snapshotOf({
  profiles = [],
  forbiddenPairs = [],
  removed = {},
  unlinked = {},
  seenWith = {},
}: World): Snapshot {
  const members = profiles.map(namesOf);
  const locations = members.flatMap((names, component) => names.map((name) => [name, component] as const));
  for (const name of [...forbiddenPairs.flatMap(namesOf), ...Object.keys(removed).flatMap(namesOf)])
    assert.ok(
      locations.some(([seated]) => seated === name),
      `${name} is in no profile`,
    );
  const gone = new Map(
    Object.entries(removed).map(([pair, at]) => [pairOf(pair), { at, by: "change-before" as ChangeId }]),
  );
  return {
    identifiers: new Map(
      locations.map(([name, component]) => [
        keyOf(name),
        {
          uid: uidOf(name),
          component,
          unlinkedAt: unlinked[name] ?? null,
          seenWith: namesOf(seenWith[name] ?? "").map(keyOf),
          isShared: false,
        },
      ]),
    ),
    components: new Map(members.map((names, component) => [component, componentOf(names, forbiddenPairs)])),
    linked: new Set(
      members
        .flatMap(pairsOf)
        .map(pairOf)
        .filter((pair) => !gone.has(pair)),
    ),
    removed: gone,
    tombstones: new Map(),
  };
}

function componentOf(names: readonly string[], forbiddenPairs: readonly Names[]): SeenComponent {
  const counts = new Map<string, number>();
  for (const { namespace } of names.map(identifierNamed)) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  const own = forbiddenPairs.filter((pair) => namesOf(pair).some((name) => names.includes(name)));
  return {
    profileId: names.map(uidOf).toSorted()[0]!,
    size: names.length,
    counts,
    forbidden: own.map((pair) => forbiddenPairIdFor(WORKSPACE, pairOf(pair))).toSorted(),
    rev: 1,
  };
}

/** `page`: an event of a collect-only key. */
export type Asker = "identify" | "alias" | "event" | "page";

let requests = 0;
export function requestOf(asker: Asker, names: Names, at = 100): Request {
  const isEvent = asker === "event" || asker === "page";
  const source: Source = isEvent ? ("33333333-3333-4333-8333-333333333333" as EventId) : asker;
  const all = namesOf(names);
  return {
    assertion: {
      identifiers: all.map(identifierNamed),
      evidence: { source, keyId: "key0000001" as KeyId, at },
      scoped: asker === "page",
    },
    keys: all.map(keyOf),
    uids: all.map(uidOf),
    changeId: `change-${(requests += 1)}` as ChangeId,
  };
}
