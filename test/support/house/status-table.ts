/** Each row of the promised statuses, and the titles of the tests that hold the service to it. */
export const STATUSES: Readonly<Record<string, readonly string[]>> = {
  "202": ["answers a valid submission with 202 at once: an event_id, and a status that is always accepted"],
  "200 inline": [
    "tells every problem of the envelope as fail, an unknown schema and a bad timestamp among them",
    "queues nothing: neither an event nor a profile nor a namespace comes of it",
  ],
  "400": [
    "that are malformed JSON are 400, on every route that reads one",
    "of invalid UTF-8 are 400",
    "with a byte order mark, or in utf-16, are 400",
    "with a key twice are 400 and name it, at any depth and however it is spelled",
    "answers 400 for two Host headers, for none, and for two Authorization headers",
    "over 255 characters, empty or not printable ASCII is 400",
  ],
  "401": [
    "is 401 with WWW-Authenticate and one body, whether the key is missing, malformed, unknown, revoked or expired",
  ],
  "403": ["rejects a read-only key used for a write with 403: sending data needs the role editor or higher"],
  "404": [
    "answers 404 for unknown routes, before the key is looked at",
    "answers the same 404 for an event of another workspace",
    "of another workspace look unknown, to revoke and to rotate",
  ],
  "405 / 406": [
    "answers 405 with Allow for a known path and another method, before the key is looked at",
    "answers 406 when Accept has no JSON, and takes every Accept that has",
  ],
  "408": [
    "answers 408 to a head and to a body that come too slowly, and lets go of a client that never closes its side",
  ],
  "409": [
    "refuse a version under which events of the last one would no longer match: 409 incompatible_schema",
    "refuse an alias as a whole: 409 merge_refused with the rule, the profiles of both sides and the change",
    "with never on a pair that other links hold together is 409 still_joined, names them and changes nothing",
    "keeps its normalization once it has identifiers: another is 409, and nothing changes",
  ],
  "415": [
    "answers 415 with Accept for a missing or other content type, utf-16 among them",
    "answers 415 with Accept-Encoding for a Content-Encoding, and takes identity",
  ],
  "422": [
    "answers 422 when the event does not match the referenced schema, and names the field by a dotted path",
    "of another workspace look unknown: to read, to version, to collect and to make a dataset of",
    "with a payload over 256 KiB are 422 payload_too_large, and one of exactly that size is kept",
    "answers 422 payload_too_large when only Content-Length says so, before the body is there",
    "refuses unknown top-level fields with 422, those that the service itself keeps among them",
    "with NUL in a key are 422, and with NUL in a value are kept",
  ],
  "429": [
    "allows 60 a minute per workspace; exceeding it gives 429 with Retry-After, RateLimit and RateLimit-Policy",
    "are 20 a minute for one key id from one address; then 429 with Retry-After, right or wrong, until the window ends",
  ],
  "503": [
    "answer 503 with Retry-After when the queue is away, and 202 again once it is back",
    "answer 503 with Retry-After when the graph is away or does not answer in time; collect goes on",
    "answer 503 with Connection: close while the process is shutting down; /readyz says so and /healthz stays well",
  ],
};
