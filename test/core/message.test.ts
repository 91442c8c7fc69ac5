import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { EventRecord } from "../../core/event/event.js";
import type { EventNotes } from "../../core/event/notes.js";
import { newId, type KeyId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { decodeMessage, encodeMessage, pinnedFacetIn } from "../../core/event/message.js";
import { SEED } from "../support/random/random.js";

const anEvent = (changes: Partial<EventRecord> = {}): EventRecord => ({
  workspace: newId<WorkspaceId>(),
  eventId: newId(),
  schemaId: "signup" as SchemaId,
  schemaVersion: 3,
  timestamp: "2026-01-31T12:00:00Z",
  receivedAt: 1_770_000_000_000,
  effectiveTs: "2026-01-31T12:00:00.000000000Z",
  folds: true,
  identifiers: [{ namespace: "email", value: "ada@example.com" }],
  dropped: [],
  keyId: "0123456789" as KeyId,
  scoped: false,
  fingerprint: null,
  notes: null,
  payload: Buffer.from('{"a":1}'),
  ...changes,
});

const PLAIN = { noNullPrototype: true } as const;

/** Notes of every form. */
function notesOf(text: fc.Arbitrary<string>): fc.Arbitrary<EventNotes> {
  const errors = fc.array(fc.record({ path: text, message: text }, PLAIN));
  const maybe = fc.option(text);
  const named = fc.record({ path: text, namespace: text, value: text }, PLAIN);
  const item = { kind: fc.constant("item" as const), type: text, name: maybe, messageId: maybe, previous: maybe };
  const origin = fc.oneof(
    fc.record({ ...item, identifiers: fc.array(named) }, PLAIN),
    fc.record({ kind: fc.constant("unfit" as const), type: maybe, messageId: maybe }, PLAIN),
    fc.record({ kind: fc.constant("collect" as const) }, PLAIN),
  );
  const reason = fc.constantFrom("quarantined" as const, "rejected" as const);
  const send = fc.constantFrom("collect" as const, "all" as const, null);
  const verdict = fc.option(fc.record({ reason, errors, send, origin }, PLAIN));
  return fc.record({ countsMismatch: fc.boolean(), violations: errors, unfolded: fc.array(text), verdict }, PLAIN);
}

const decoded = (message: Buffer): EventRecord => {
  const result = decodeMessage(message);
  if (result.kind !== "event") assert.fail(result.reason);
  return result.event;
};

const NOTES: EventNotes = { countsMismatch: true, violations: [], unfolded: [], verdict: null };
const VERDICT = { reason: "quarantined", errors: [], send: null, origin: { kind: "collect" } };

/** The message with one member of its header replaced; undefined takes it away. */
const forged = (name: string, value: unknown): Buffer => {
  const message = encodeMessage(anEvent());
  const end = message.indexOf(0x0a);
  const header = JSON.parse(message.toString("utf8", 0, end)) as Record<string, unknown>;
  return Buffer.concat([Buffer.from(JSON.stringify({ ...header, [name]: value })), message.subarray(end)]);
};
const reason = (message: Buffer): string => {
  const result = decodeMessage(message);
  return result.kind === "foreign" ? result.reason : "none";
};

describe("A queued message", () => {
  it("carries all that the gateway pinned, whatever characters it holds", () => {
    const text = fc.string({ unit: "grapheme" }).map((value) => value.replace(/\p{Surrogate}/gu, "?"));
    const identifier = fc.record({ namespace: fc.constantFrom("email", "x.y"), value: text }, PLAIN);
    const event = fc
      .record({
        identifiers: fc.array(identifier),
        dropped: fc.array(fc.record({ identifier, rule: fc.constant("blocked" as const) }, PLAIN)),
        folds: fc.boolean(),
        scoped: fc.boolean(),
        fingerprint: fc.option(text),
        notes: fc.option(notesOf(text)),
        payload: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      })
      .map(anEvent);
    fc.assert(
      fc.property(event, (one) => {
        assert.deepEqual(decoded(encodeMessage(one)), one);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it("carries the payload's bytes as received, line feeds and all", () => {
    const payload = Buffer.from('{\n "a" : 1.0,\n\t"\\u0061b": "\u2028\\n"}');
    assert.ok(decoded(encodeMessage(anEvent({ payload }))).payload.equals(payload));
  });

  it("of another version is foreign, so that an older build does not guess", () => {
    assert.equal(reason(forged("v", 2)), "unknown_message_version");
    assert.equal(reason(forged("v", "1")), "unknown_message_version");
  });

  it("with a header that is not ours is foreign, and never thrown at the worker", () => {
    const wrong: readonly (readonly [string, unknown])[] = [
      ["ws", "not-a-uuid"],
      ["ws", undefined],
      ["id", 7],
      ["id", "x"],
      ["schema", null],
      ["sv", 1.5],
      ["sv", "1"],
      ["ts", undefined],
      ["at", null],
      ["eff", 1],
      ["folds", "true"],
      ["ids", {}],
      ["ids", [["email"]]],
      ["ids", [["email", 1]]],
      ["drop", [["email", "x"]]],
      ["key", undefined],
      ["fp", 7],
      ["notes", null],
      ["notes", { ...NOTES, countsMismatch: 1 }],
      ["notes", { ...NOTES, violations: [{ path: "a" }] }],
      ["notes", { ...NOTES, unfolded: "a" }],
      ["notes", { ...NOTES, verdict: { ...VERDICT, reason: "other" } }],
      ["notes", { ...NOTES, verdict: { ...VERDICT, send: "none" } }],
      ["notes", { ...NOTES, verdict: { ...VERDICT, errors: {} } }],
      ["notes", { ...NOTES, verdict: { ...VERDICT, origin: { kind: "other" } } }],
      ["notes", { ...NOTES, verdict: { ...VERDICT, origin: { kind: "unfit", type: 1, messageId: null } } }],
      ["notes", { ...NOTES, verdict: { ...VERDICT, origin: { kind: "item", type: "track", identifiers: [] } } }],
    ];
    for (const [name, value] of wrong)
      assert.equal(reason(forged(name, value)), "not_an_onym_message", `${name}=${JSON.stringify(value)}`);
  });

  it("of any bytes at all is either an event or foreign", () => {
    const texts = ["", "\n", "{}", "{}\n", "null\n", "[]\n", "7\n", '"x"\n{}', "{\n", "\xff\n"];
    for (const text of texts) assert.equal(decodeMessage(Buffer.from(text, "latin1")).kind, "foreign", text);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        assert.equal(decodeMessage(Buffer.from(bytes)).kind, "foreign");
      }),
      { seed: SEED },
    );
  });

  it("has the same bytes for its facet as every other message of that facet, and no other's", () => {
    const workspace = newId<WorkspaceId>();
    const facetOf = (changes: Partial<EventRecord>): string =>
      pinnedFacetIn(encodeMessage(anEvent({ workspace, ...changes }))).toString();
    const ada = { namespace: "email", value: "ada@example.com" };
    const device = { namespace: "device_id", value: '"ids":[["' };
    const schemaId = '"ids":[["x","y"]]' as SchemaId;
    assert.equal(facetOf({}), facetOf({ schemaId, identifiers: [ada, device], payload: Buffer.from('{"ids":[[1]]}') }));
    assert.notEqual(facetOf({}), facetOf({ identifiers: [device, ada] }));
    assert.notEqual(facetOf({}), facetOf({ workspace: newId() }));
    assert.notEqual(facetOf({ identifiers: [] }), facetOf({ identifiers: [] }), "without any, each event is apart");
    assert.equal(pinnedFacetIn(Buffer.from("foreign")).length, 0);
  });
});
