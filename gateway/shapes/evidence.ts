import type { Change, Evidence, ProfileRef } from "../../core/identity/model.js";
import type { PathLink } from "../../core/identity/api.js";
import { isUuid } from "../../core/ids.js";
import { showTime } from "../../core/event/time.js";

/** The call that asserted it, or `event` and its id. */
const showSource = ({ source }: Evidence) => {
  const eventId = isUuid(source) ? source : null;
  return { source: eventId === null ? source : "event", event_id: eventId };
};

type Asserted = Pick<PathLink, "changeId" | "evidence">;

/** What every link says of where it comes from. */
export const showAsserted = ({ changeId, evidence }: Asserted) => ({
  ...showSource(evidence),
  change_id: changeId,
  key_id: evidence.keyId,
  at: showTime(evidence.at),
});

export const showLink = (link: PathLink) => ({ from: link.from, to: link.to, ...showAsserted(link) });

export const showRef = ({ profileId, size }: ProfileRef) => ({ profile_id: profileId, size });

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
});
