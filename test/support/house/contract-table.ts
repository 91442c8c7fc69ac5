/**
 * Each line of the contract that says something, by a piece of it that no other line has, and the titles of the tests that hold
 * the service to it. A line without titles says what kind of thing it is instead.
 */
export type Cover = readonly string[] | { readonly untested: "prose" | "left to the design" };

const PROSE = { untested: "prose" } as const;
const OPEN = { untested: "left to the design" } as const;

export const CONTRACT: Readonly<Record<string, Cover>> = {
  "This document covers the whole service": PROSE,
  "hosted REST API. Every endpoint is under the path prefix": [
    "lives under the path prefix /v1; only the operational pages stand outside of it",
    "puts every route under /v1",
  ],
  "each conforming to a schema the client owns": [
    "validates each event against a schema that the client owns, and stores it",
    "brings back whatever JSON was answered 202, equal in meaning",
  ],
  "the service folds events into customer profiles in real time": [
    "folds the events of datasets enabled for unified profile into customer profiles in real time",
    "stores and does not fold the events of a schema without a dataset, or with none that is unified",
  ],
  "Ingestion is asynchronous by default": [
    "processes the event asynchronously when syncValidation is absent or false",
    "answers 200 with status pass and empty errors when the event conforms",
  ],
  "The identify operation links": ["links one or more identifiers to a profile and answers 200 with its id at once"],
  "The alias operation connects": [
    "connects an anonymous identifier to a known person and answers 200 with the profile id",
    "together with identify keeps one person from appearing as several profiles",
  ],
  "Every request is scoped to the caller's workspace": [
    "scope a request to one workspace",
    "keep everything apart: no key of one sees anything of another",
  ],
  "Other capabilities (managing schemas and datasets": [
    "are registered with 201 and shown with id, version, compatibility and the schema as sent",
    "are made with 201 and shown with dataset_id, name, schema_id, unified_profile and retention_days",
  ],
  "Official client libraries are in development": ["works with an ordinary client"],
  "| schema_id | string | yes |": [
    "requires schema_id, timestamp and payload: 422 names each one that is missing",
    "requires schema_id to be a string and payload to be an object",
  ],
  "| timestamp | string | yes |": [
    "requires timestamp to be an ISO 8601 date-time in UTC with a trailing Z and a real date",
  ],
  "| payload | object | yes |": ["requires schema_id to be a string and payload to be an object"],
  "The payload's property names come from": ["keeps payload properties of any name that the schema does not forbid"],
  "| event_id | string | Handle for the event": [
    "shows the event with its status, schema version, times, payload, profiles and what was dropped",
  ],
  "Always `accepted`": [
    "answers a valid submission with 202 at once: an event_id, and a status that is always accepted",
  ],
  "| status | string | `pass` or `fail`": [
    "answers 200 with status pass and empty errors when the event conforms",
    "answers 200 with status fail and one error item per problem, each with a dotted path and a message",
  ],
  "| errors | array of error items |": [
    "answers 200 with status pass and empty errors when the event conforms",
    "stops after 100 errors, with one more item whose path is empty and that says that there are more",
  ],
  "Error item:": PROSE,
  "Dotted path to the offending payload field": [
    "joins nested properties by dots and writes array positions as numbers",
    "answers 422 when the event does not match the referenced schema, and names the field by a dotted path",
  ],
  "| message | string | Human-readable problem": [
    "answers 200 with status fail and one error item per problem, each with a dotted path and a message",
  ],
  "| namespace | string | yes |": ["requires namespace and value to be strings, and nothing beside them"],
  "| value | string | yes |": [
    "requires namespace and value to be strings, and nothing beside them",
    "takes values of 1 to 1,024 characters as sent; others are 422",
  ],
  "Allowed namespace values: not shown": OPEN,
  "| identifiers | request |": ["takes 1 to 20 identifiers per request; none or 21 are 422"],
  "| profile_id | response |": ["links one or more identifiers to a profile and answers 200 with its id at once"],
  "Alias request and response fields: not shown": OPEN,
  "Profile record fields beyond its id": OPEN,
  "Schema and dataset record fields": OPEN,
  "Named values:": PROSE,
  "Submission status: `accepted`": [
    "answers a valid submission with 202 at once: an event_id, and a status that is always accepted",
  ],
  "Validation status: `pass`, `fail`": [
    "answers 200 with status pass and empty errors when the event conforms",
    "answers 200 with status fail and one error item per problem, each with a dotted path and a message",
  ],
  "Transitions: not shown": OPEN,
  "All paths are relative to `{base_url}`": [
    "answers JSON in UTF-8 to requests that send Content-Type: application/json",
    "answers 415 with Accept for a missing or other content type, utf-16 among them",
  ],
  "Submits a single event": [
    "answers a valid submission with 202 at once: an event_id, and a status that is always accepted",
  ],
  "| Query parameter | `syncValidation`": [
    "takes true and false for syncValidation; any other value is 400 and names it",
    "processes the event asynchronously when syncValidation is absent or false",
  ],
  "| Request body | Event submission": [
    "requires schema_id, timestamp and payload: 422 names each one that is missing",
    "refuses unknown top-level fields with 422, those that the service itself keeps among them",
  ],
  "| Response, asynchronous (default)": [
    "answers a valid submission with 202 at once: an event_id, and a status that is always accepted",
  ],
  "| Response, `syncValidation=true` | 200": [
    "answers 200 with status pass and empty errors when the event conforms",
    "queues nothing: neither an event nor a profile nor a namespace comes of it",
  ],
  "| Failure | 422 when": [
    "answers 422 when the event does not match the referenced schema, and names the field by a dotted path",
    "with a payload over 256 KiB are 422 payload_too_large, and one of exactly that size is kept",
    "allows 60 a minute per workspace; exceeding it gives 429 with Retry-After, RateLimit and RateLimit-Policy",
    "rejects a read-only key used for a write with 403: sending data needs the role editor or higher",
  ],
  "1. When `syncValidation` is not `true`": [
    "answers a valid submission with 202 at once: an event_id, and a status that is always accepted",
  ],
  "2. When `syncValidation=true` and the event conforms": [
    "answers 200 with status pass and empty errors when the event conforms",
  ],
  "3. When `syncValidation=true` and the event has problems": [
    "answers 200 with status fail and one error item per problem, each with a dotted path and a message",
    "tells every problem of the envelope as fail, an unknown schema and a bad timestamp among them",
  ],
  "4. Inline validation is meant for development": PROSE,
  "Links one or more identifiers to a profile.": [
    "links one or more identifiers to a profile and answers 200 with its id at once",
  ],
  "| Request body | Object with `identifiers`": ["takes 1 to 20 identifiers per request; none or 21 are 422"],
  "| Response | Object with `profile_id`": [
    "links one or more identifiers to a profile and answers 200 with its id at once",
  ],
  "1. Identifiers sent in one request are linked": ["links the identifiers of one request to the same profile"],
  "2. Success status code of identify": OPEN,
  "Connects an anonymous identifier to a known person. Request": OPEN,
  "Endpoints for schemas, datasets, audiences and profile": OPEN,
  "1. Every request carries the header": [
    "are sent as Authorization: Bearer <API_KEY>; the scheme's case and spaces around do not matter",
    "in a URL are refused",
  ],
  "2. The key scopes the request": ["scope a request to one workspace"],
  "3. Sending data (collect, identify, alias)": [
    "rejects a read-only key used for a write with 403: sending data needs the role editor or higher",
    "declares for every route what the design says, and no route beside those",
  ],
  "4. A read-only key used for a write": [
    "rejects a read-only key used for a write with 403: sending data needs the role editor or higher",
  ],
  "5. A missing or invalid key": [
    "is 401 with WWW-Authenticate and one body, whether the key is missing, malformed, unknown, revoked or expired",
  ],
  "6. Other role names and how keys": OPEN,
  "Inbound events are the records submitted": [
    "answers a valid submission with 202 at once: an event_id, and a status that is always accepted",
    "accepts many at a time and gives each an event_id of its own",
  ],
  "accepted events are folded into customer profiles": [
    "folds the events of datasets enabled for unified profile into customer profiles in real time",
  ],
  "Outbound notifications or webhooks": OPEN,
  "| 202 | Event queued": [
    "answers a valid submission with 202 at once: an event_id, and a status that is always accepted",
  ],
  "| 200 | Inline validation ran": ["answers 200 with status pass and empty errors when the event conforms"],
  "| 422 | Event does not match": [
    "answers 422 when the event does not match the referenced schema, and names the field by a dotted path",
    "with a payload over 256 KiB are 422 payload_too_large, and one of exactly that size is kept",
  ],
  "| 429 | Rate limit for inline": [
    "allows 60 a minute per workspace; exceeding it gives 429 with Retry-After, RateLimit and RateLimit-Policy",
  ],
  "| 401 | Missing or invalid": [
    "is 401 with WWW-Authenticate and one body, whether the key is missing, malformed, unknown, revoked or expired",
  ],
  "| 403 | Missing or invalid key, or": [
    "rejects a read-only key used for a write with 403: sending data needs the role editor or higher",
  ],
  "Which of 401 or 403 applies": OPEN,
  "Body shape of error responses": OPEN,
  "1. Inline validation (`syncValidation=true`) is rate limited": [
    "allows 60 a minute per workspace; exceeding it gives 429 with Retry-After, RateLimit and RateLimit-Policy",
  ],
  "2. A payload has a maximum size": [
    "with a payload over 256 KiB are 422 payload_too_large, and one of exactly that size is kept",
    "answers 422 payload_too_large when only Content-Length says so, before the body is there",
  ],
  "3. Asynchronous ingestion is the path": OPEN,
  "All endpoints live under the path prefix": [
    "lives under the path prefix /v1; only the operational pages stand outside of it",
  ],
  "Deprecation policy and the lifecycle": OPEN,
};
