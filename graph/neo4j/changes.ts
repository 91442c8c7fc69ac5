import type { DropRule } from "../../core/event/event.js";
import { isNamed } from "../../core/identity/names.js";
import type { ChangeId, IdentifierKey, KeyId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Change, Evidence, Source } from "../../core/identity/model.js";
import type { ChangedIdentifier } from "../../core/identity/names.js";
import { namedKeys, subjectsOf } from "../rules/subjects.js";
import { whole, type Row } from "./client.js";

/** The record, and those of its identifiers that the step has read. */
export function changeParameters(ws: WorkspaceId, change: Change, uidOf: (key: IdentifierKey) => Uid | undefined) {
  const { changeId, at, evidence, outcome, before, after, rule, reverts, isForbidding } = change;
  const named = namedKeys(ws, change).flatMap((key) => uidOf(key) ?? []);
  return {
    id: changeId,
    at: whole(at),
    asked_at: evidence.at === at ? null : whole(evidence.at),
    outcome,
    ...sourceOf(evidence),
    key_id: evidence.keyId,
    ...recordOfNames(change),
    before,
    after,
    rule,
    reverts,
    forbids: isForbidding ? true : null,
    about: [...new Set([...named, ...subjectsOf(change)])],
  };
}

/** An event's id is a property of its own, because it would be unreadable as the caption of a link. */
export const sourceOf = ({ source }: Evidence) =>
  NAMED.has(source) ? { source, event: null } : { source: "event", event: source };

const NAMED: ReadonlySet<string> = new Set(["identify", "alias", "unlink", "revert", "allow", "shared_identifier"]);

/** Readable, and injective: no namespace holds a colon, and no rule a space. One that was erased has no colon. */
const nameOf = (one: ChangedIdentifier): string =>
  isNamed(one) ? `${one.namespace}:${one.value}` : `${one.namespace}${ERASED}`;
const ERASED = " (erased)";

function named(name: string): ChangedIdentifier {
  const colon = name.indexOf(":");
  if (colon === -1) return { namespace: name.slice(0, -ERASED.length), erased: true };
  return { namespace: name.slice(0, colon), value: name.slice(colon + 1) };
}

type Dropped = Change["dropped"][number];

const textOf = (one: Dropped): string =>
  "identifier" in one
    ? `${one.rule} ${nameOf(one.identifier)}`
    : JSON.stringify([one.rule, nameOf(one.from), nameOf(one.to)]);

function droppedOf(text: string): Dropped {
  if (text.startsWith("[")) {
    const [rule, from, to] = JSON.parse(text) as [DropRule, string, string];
    return { from: named(from), to: named(to), rule };
  }
  const space = text.indexOf(" ");
  return { identifier: named(text.slice(space + 1)), rule: text.slice(0, space) as DropRule };
}

/** What a record names, as it is stored. */
export const namesInRecord = (identifiers: readonly string[], dropped: readonly string[] | null) => ({
  identifiers: identifiers.map(named),
  dropped: (dropped ?? []).map(droppedOf),
});
export const recordOfNames = ({ identifiers, dropped }: Pick<Change, "identifiers" | "dropped">) => ({
  identifiers: identifiers.map(nameOf),
  dropped: dropped.length === 0 ? null : dropped.map(textOf),
});

type ChangeRow = readonly [
  changeId: ChangeId,
  at: number,
  askedAt: number | null,
  outcome: Change["outcome"],
  source: Source,
  keyId: KeyId,
  identifiers: readonly string[],
  before: readonly ProfileId[],
  after: readonly ProfileId[],
  dropped: readonly string[] | null,
  rule: DropRule | null,
  reverts: ChangeId | null,
  forbids: true | null,
];

export const changesOf = (found: readonly Row[]): readonly Change[] => (found as unknown as ChangeRow[]).map(changeOf);

function changeOf(row: ChangeRow): Change {
  const [changeId, at, askedAt, outcome, source, keyId, identifiers, before, after, dropped, rule, reverts, forbids] =
    row;
  return {
    changeId,
    at,
    evidence: { source, keyId, at: askedAt ?? at },
    // In the order of all engines: a copy is compared by its text.
    identifiers: identifiers.map(named),
    outcome,
    before,
    after,
    dropped: (dropped ?? []).map(droppedOf),
    rule,
    reverts,
    isForbidding: forbids ?? false,
  };
}
