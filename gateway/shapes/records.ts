import { Type } from "typebox";
import type { DropRule } from "../../core/event/event.js";
import { showTime } from "../../core/event/time.js";
import type { PathLink } from "../../core/identity/api.js";
import { OUTCOMES, type Change, type Evidence, type ProfileRef } from "../../core/identity/model.js";
import { isUuid } from "../../core/ids.js";
import { nullable, record, TIME, UUID } from "./fields.js";

/** Records that several routes answer, each with its schema. */

/** The names of a union, written as a record, so that a missing one does not compile. */
export const namesOf = <Name extends string>(names: Readonly<Record<Name, true>>) => Object.keys(names) as Name[];

/** What an identifier takes at most: 1,024 characters, each of which may be six bytes of JSON. */
export const IDENTIFIER_BYTES = 6_400;

/** As it is stored; the value may be anything that a caller sent. */
export const SHOWN_IDENTIFIER = record({ namespace: Type.String(), value: Type.String() });

export const RULE = Type.Enum(
  namesOf<DropRule>({
    blocked: true,
    invalid: true,
    limit: true,
    forbidden_pair: true,
    shared_identifier: true,
    unlinked: true,
    scope: true,
    erased: true,
    suppressed: true,
  }),
);

export const DROPPED_IDENTIFIER = record({ identifier: SHOWN_IDENTIFIER, rule: RULE });
export const DROPPED_LINK = record({ from: SHOWN_IDENTIFIER, to: SHOWN_IDENTIFIER, rule: RULE });

/** In a record of a change: of an identifier that was erased only the namespace is left. */
const CHANGED_IDENTIFIER = Type.Union([
  SHOWN_IDENTIFIER,
  record({ namespace: Type.String(), erased: Type.Literal(true) }),
]);
const CHANGED_DROP = Type.Union([
  record({ identifier: CHANGED_IDENTIFIER, rule: RULE }),
  record({ from: CHANGED_IDENTIFIER, to: CHANGED_IDENTIFIER, rule: RULE }),
]);

export const REF = record({ profile_id: UUID, size: Type.Integer({ minimum: 1 }) });
export const showRef = ({ profileId, size }: ProfileRef) => ({ profile_id: profileId, size });

/** The call that asserted it, or `event` and its id. */
const SOURCE = {
  source: Type.Enum(["identify", "alias", "unlink", "revert", "allow", "shared_identifier", "event"]),
  event_id: nullable(UUID),
};
const showSource = ({ source }: Evidence) => {
  const eventId = isUuid(source) ? source : null;
  return { source: eventId === null ? source : "event", event_id: eventId };
};

/** The evidence of a link. */
export const ASSERTED = { ...SOURCE, change_id: UUID, key_id: Type.String(), at: TIME };
export const showAsserted = ({ changeId, evidence }: Pick<PathLink, "changeId" | "evidence">) => ({
  ...showSource(evidence),
  change_id: changeId,
  key_id: evidence.keyId,
  at: showTime(evidence.at),
});

export const LINK = record({ from: SHOWN_IDENTIFIER, to: SHOWN_IDENTIFIER, ...ASSERTED });
export const showLink = (link: PathLink) => ({ from: link.from, to: link.to, ...showAsserted(link) });

/** What a change takes at most: its 20 identifiers may all stand among the dropped ones, too. */
export const CHANGE_BYTES = 41 * IDENTIFIER_BYTES;
export const CHANGE = record({
  change_id: UUID,
  at: TIME,
  outcome: Type.Enum(OUTCOMES),
  ...SOURCE,
  key_id: Type.String(),
  identifiers: Type.Array(CHANGED_IDENTIFIER),
  before: Type.Array(UUID),
  after: Type.Array(UUID),
  dropped: Type.Array(CHANGED_DROP),
  rule: Type.Optional(RULE),
  reverts: Type.Optional(UUID),
  forbid: Type.Optional(Type.Literal(true)),
});
export const showChange = (change: Change) => ({
  change_id: change.changeId,
  at: showTime(change.at),
  outcome: change.outcome,
  ...showSource(change.evidence),
  key_id: change.evidence.keyId,
  identifiers: change.identifiers,
  before: change.before,
  after: change.after,
  dropped: change.dropped,
  ...(change.rule !== null && { rule: change.rule }),
  ...(change.reverts !== null && { reverts: change.reverts }),
  ...(change.isForbidding && { forbid: true as const }),
});
