import assert from "node:assert/strict";
import { openTracing } from "../../app/telemetry/tracing.js";
import { decodeMessage, encodeMessage, traceparentIn, withTraceparent } from "../../core/event/message.js";
import type { Identity } from "../../core/identity/api.js";
import type { Backends } from "../../app/backends.js";
import { anEvent } from "../support/builders.js";
import { eventually } from "../support/eventually.js";
import { startApp, textAt, type App, type TestWorkspace } from "../support/service/app.js";
import { registerTracer, type Ended } from "../support/service/tracer.js";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;

describe("The trace in a message's header", () => {
  it("is read again, and changes nothing else of the event", () => {
    const message = encodeMessage(anEvent());
    const marked = withTraceparent(message, TRACEPARENT);
    assert.equal(traceparentIn(message), null);
    assert.equal(traceparentIn(marked), TRACEPARENT);
    assert.deepEqual(decodeMessage(marked), decodeMessage(message));
  });

  it("is not taken from what a client sent, nor from a message of others", () => {
    const text = `,"tp":"${TRACEPARENT}"}`;
    const payload = Buffer.from(JSON.stringify({ text }) + `\n${text}`);
    const event = anEvent({ identifiers: [{ namespace: "email", value: text }], payload });
    assert.equal(traceparentIn(encodeMessage(event)), null);
    for (const strange of ["", "\n", "x", text]) assert.equal(traceparentIn(Buffer.from(strange)), null);
  });
});

describe("Without an SDK", () => {
  it("nothing is wrapped", () => {
    const tracing = openTracing("1");
    assert.equal(tracing.traced, null);
    const [backends, identity] = [{} as Backends, {} as Identity];
    assert.equal(tracing.backends(backends), backends);
    assert.equal(tracing.identity(identity), identity);
  });
});

describe("With an SDK", () => {
  let app: App;
  let workspace: TestWorkspace;
  let schemaId: string;
  let tracer: ReturnType<typeof registerTracer>;
  before(async () => {
    tracer = registerTracer();
    app = await startApp();
    workspace = await app.workspace();
    schemaId = await workspace.schema();
  });
  after(async () => {
    await app.close();
    tracer.remove();
  });
  const named = (name: string, traceId: string): readonly Ended[] =>
    tracer.ended.filter((span) => span.name === name && span.traceId === traceId);
  const collect = async (email: string, traceparent: string): Promise<string> => {
    const sent = await workspace.collect(schemaId, { email }, { traceparent });
    assert.equal(sent.status, 202);
    return textAt(sent.body, "event_id");
  };

  it("an event is one trace, from the request that names it until it is folded", async () => {
    await workspace.settled(await collect("ada@example.com", TRACEPARENT));
    await eventually("the batch ended", () => named("batch", TRACE_ID).length > 0);
    const [collected, published, batch] = ["collect", "publish", "batch"].map((name) => named(name, TRACE_ID)[0]);
    assert.deepEqual(
      [collected?.parentId, published?.parentId, batch?.parentId],
      [SPAN_ID, collected?.spanId, published?.spanId],
    );
    for (const name of ["link", "fold"]) assert.equal(named(name, TRACE_ID)[0]?.parentId, batch?.spanId, name);
    assert.deepEqual(collected?.attributes, { "http.route": "/v1/collect" });
  });

  it("a header that is none begins a trace of its own", async () => {
    const zeros = TRACEPARENT.replace(TRACE_ID, "0".repeat(32));
    for (const wrong of [zeros, `${TRACEPARENT}-extra`, "garbage"]) {
      const spans = tracer.ended.length;
      await collect("bob@example.com", wrong);
      const collected = tracer.ended.slice(spans).find(({ name }) => name === "collect");
      assert.equal(collected?.parentId, null);
    }
  });

  it("a failure is marked by its code, and without a value that was sent", async () => {
    const sent = await workspace.collect(schemaId, { email: 77_123 }, { traceparent: TRACEPARENT });
    assert.equal(sent.status, 422);
    const failed = named("collect", TRACE_ID).find(({ status }) => status !== null);
    assert.equal(failed?.status?.message, "validation_failed");
    assert.doesNotMatch(JSON.stringify(tracer.ended), /77123|@example\.com/);
  });

  it("a batch of several traces links to each, and stands in each", async () => {
    const ids = Array.from({ length: 60 }, (_, n) => n.toString(16).padStart(32, "a"));
    const events = await Promise.all(ids.map((id, n) => collect(`p${n}@example.com`, `00-${id}-${SPAN_ID}-01`)));
    await Promise.all(events.map((eventId) => workspace.settled(eventId)));
    const standsIn = (id: string): boolean => named("event", id).length + named("batch", id).length > 0;
    await eventually("each trace has its event", () => ids.every(standsIn));
    const together = tracer.ended.filter(({ name, links }) => name === "batch" && links.length > 1);
    assert.ok(together.length > 0);
    for (const { spanId, links } of together)
      for (const { traceId } of links)
        assert.ok(named("event", traceId).some((event) => event.links.some((link) => link.spanId === spanId)));
  });
});
