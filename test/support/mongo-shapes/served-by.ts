import { askedBy, type Shape } from "./shape.js";

/**
 * Every query that the adapter sends, by collection: what it asks for, and the index that serves it. `*` stands for the id of a tally.
 * What the suites send is held against it, on every connection of the adapter.
 */
export const SERVED_BY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  audiences: {
    "; sort _id+": "_id_",
    _id: "_id_",
    "_id range; sort _id+": "_id_",
    "_id, version": "_id_",
  },
  backfills: {
    "_id, rev": "_id_",
    "_id; sort backfillId+": "_id_",
    "backfillId range, state; sort backfillId+": "running",
    "backfillId range, workspace; sort backfillId-": "age",
    "coversUntil range, schemaId in, state ne, workspace; sort backfillId+": "ofSchema",
    "state; sort backfillId+": "running",
    "workspace; sort backfillId-": "age",
  },
  catalog: {
    _id: "_id_",
    "_id ne, key_ids in": "key_ids",
    "_id range, workspace ne; sort _id+": "_id_",
    "_id, datasets elemMatch": "_id_",
    "_id, rev": "_id_",
    key_ids: "key_ids",
    "workspace ne; sort _id+": "_id_",
  },
  deadLetters: {
    "_id in, ws": "_id_",
    "_id range, names in, ws; sort _id+": "named",
    "_id range; sort _id+": "_id_",
    "_id, times range, ws": "_id_",
    "_id, ws": "_id_",
    "eventId in, ws": "ofEvent",
    "eventId, position range, reason, ws; sort position-": "ofEvent",
    "eventId, position range, ws; sort position-": "ofEvent",
    "eventId, reason, ws; sort position-": "ofEvent",
    "eventId, ws; sort position-": "ofEvent",
    "isOpen, keyId, position range, reason, ws; sort position-": "ofKey",
    "isOpen, keyId, position range, ws; sort position-": "ofKey",
    "isOpen, keyId, reason, ws; sort position-": "ofKey",
    "isOpen, keyId, ws; sort position-": "ofKey",
    "isOpen, position range, reason, ws": "open",
    "isOpen, position range, reason, ws; sort position+": "open",
    "isOpen, position range, reason, ws; sort position-": "ofReason",
    "isOpen, position range, ws": "open",
    "isOpen, position range, ws; sort position+": "open",
    "isOpen, position range, ws; sort position-": "newest",
    "isOpen, reason, ws; sort position-": "ofReason",
    "isOpen, ws; sort position-": "newest",
    "keyId, position range, reason, ws; sort position-": "ofKey",
    "keyId, position range, ws; sort position-": "ofKey",
    "keyId, reason, ws; sort position-": "ofKey",
    "keyId, ws; sort position-": "ofKey",
    "$or, receivedAt range, schemaId, ws; sort receivedAt+ _id+": "received",
    "receivedAt range, schemaId, ws; sort receivedAt+ _id+": "received",
    "position range, reason, ws; sort position-": "ofReason",
    "position range, ws; sort position-": "newest",
    "reason, ws; sort position-": "ofReason",
    "ws; sort position-": "newest",
  },
  erasures: {
    "_id range; sort _id+": "_id_",
  },
  events: {
    "$or, _id in": "_id_",
    _id: "_id_",
    "_id in": "_id_",
    "_id in, gone null": "_id_",
    "_id range, folded ne, names in; sort _id+": "named",
    "_id range, tallies exists; sort _id+": "_id_",
    "_id range; sort _id+": "_id_",
    "_id, facet null, gone null": "_id_",
    "_id, facet, folded, gone null": "_id_",
    "_id, facet, gone null": "_id_",
    "_id, gone null": "_id_",
    "arrival range; sort arrival+": "arrival",
    "arrival range; sort arrival-": "arrival",
    "facet in, folded": "timeline",
    "facet in, folded, position range; sort position-": "timeline",
    "ofSchema range; sort ofSchema+": "ofSchema",
    "position range, tallies in; sort position-": "tallies",
    "tallies begins": "tallies",
  },
  facets: {
    "_id in": "_id_",
    "_id range, isGuard null; sort _id+": "_id_",
    "_id, rev": "_id_",
  },
  feed: {
    "_id in, ws": "_id_",
    "_id range; sort _id+": "_id_",
    "_id, sizes size, ws": "_id_",
    "_id, ws": "_id_",
    "at range, last range, ws; sort last+": "numbers",
    "last range, ws; sort last+": "numbers",
    "origins in, ws": "origins",
    "ws range; sort ws+ last+": "numbers",
    "ws; sort last+": "numbers",
    "ws; sort last-": "numbers",
  },
  marks: {
    "; sort age+": "age",
    _id: "_id_",
    "_id range; sort _id+": "_id_",
    "_id, mark": "_id_",
    "age range; sort age+": "age",
  },
  probe: {
    _id: "_id_",
  },
  rateWindows: {
    "$or, _id": "_id_",
    "_id, resetAt range": "_id_",
  },
  schema_versions: {
    "_id in": "_id_",
  },
  seats: {
    "$or, _id range; sort _id+": "_id_",
    "_id, ws": "_id_",
    "_id in, ws": "_id_",
    "_id in, saved, ws": "_id_",
    "_id, claim, ws": "_id_",
    "_id, claim null, due null, memberships size, out size, ws": "_id_",
    "_id, out size, saved, ws": "_id_",
    "claim type, profile range, ws; sort profile+": "claimed",
    "claim type, ws; sort profile+": "claimed",
    "$or, due range, ws; sort due+ profile+": "due",
    "due ne range, ws; sort due+ profile+": "due",
    "memberships.audience, profile range, ws; sort profile+": "members",
    "memberships.audience, ws; sort profile+": "members",
    "waiting, ws": "waiting",
  },
  settings: {
    _id: "_id_",
    "_id, mark.moveId, mark.state": "_id_",
    "_id, ms range": "_id_",
  },
  stats: {
    _id: "_id_",
    "minute range, workspace; sort minute-": "hour",
  },
  webhooks: {
    _id: "_id_",
    "_id range; sort _id+": "_id_",
    "_id, rev": "_id_",
    "id range, isOpen; sort id+": "open",
    ws: "slots",
  },
};

export const indexOf = (shape: Shape): string | undefined => SERVED_BY[shape.collection]?.[askedBy(shape)];

/**
 * The first field of the key by which documents are spread over the shards of a cluster; `_id` follows `ws`, except in `feed`, whose
 * numbers are unique. Each begins with the workspace, so the documents of one stand side by side and a zone can hold them. What is not
 * here is small and stays on one shard.
 */
export const SHARD_KEYS: Readonly<Record<string, string>> = {
  deadLetters: "ws",
  events: "_id",
  facets: "_id",
  feed: "ws",
  marks: "_id",
  seats: "ws",
};

/** What every shard is asked for: each answers from its index, and the answers are merged. */
export const ASKS_ALL_SHARDS: readonly string[] = [
  // Copying, which reads all there is.
  "deadLetters: _id range; sort _id+",
  "feed: _id range; sort _id+",
  "seats: $or, _id range; sort _id+",
  // The keeper, of all workspaces.
  "marks: ; sort age+",
  "marks: age range; sort age+",
  // By a facet, an arrival or a tally, which begin with the workspace too, but are not the key: an event has many of them.
  "events: arrival range; sort arrival+",
  "events: arrival range; sort arrival-",
  "events: facet in, folded",
  "events: facet in, folded, position range; sort position-",
  "events: ofSchema range; sort ofSchema+",
  "events: position range, tallies in; sort position-",
  "events: tallies begins",
];

/** Whether a cluster knows from the filter which shards to ask. */
export const isTargeted = ({ collection, filter }: Shape): boolean => {
  const key = SHARD_KEYS[collection];
  return (
    key === undefined || filter.split(", ").some((one) => one === key || [`${key} in`, `${key} range`].includes(one))
  );
};
