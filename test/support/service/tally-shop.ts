import assert from "node:assert/strict";
import type { EventRecord } from "../../../core/event/event.js";
import { instantOf } from "../../../core/event/time.js";
import type { EventId, SchemaId, WorkspaceId } from "../../../core/ids.js";
import { aFold, anEvent } from "../builders.js";
import { textAt, type App, type TestWorkspace } from "./app.js";

const SHOP = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    total: { type: "number" },
    n: { type: "integer" },
  },
};

/** A workspace whose events name a person, a total and a number. */
export interface TallyShop {
  readonly workspace: TestWorkspace;
  readonly id: WorkspaceId;
  readonly schemaId: string;
  /** Resolves with the event once it is folded. */
  event(email: string, payload: object, timestamp?: string): Promise<Readonly<Record<string, unknown>>>;
  /** Very many of one person, as a worker leaves them. */
  storeMany(email: string, count: number): Promise<readonly EventRecord[]>;
}

export async function openTallyShop(app: App): Promise<TallyShop> {
  const { events } = app.service.backends;
  const workspace = await app.workspace();
  const id = workspace.id as WorkspaceId;
  const schemaId = await workspace.schema(SHOP);
  const event: TallyShop["event"] = async (email: string, payload: object, timestamp = new Date().toISOString()) => {
    const sent = await workspace.send("POST", "/v1/collect", {
      schema_id: schemaId,
      timestamp,
      payload: { ...payload, email },
    });
    assert.equal(sent.status, 202, sent.text);
    return (await workspace.settled(sent.body["event_id"])).body;
  };
  const storeMany: TallyShop["storeMany"] = async (email, count) => {
    const first = await event(email, { n: -1 });
    const facet = (await events.find(id, textAt(first, "event_id") as EventId))!.facet!;
    const all = Array.from({ length: count }, (_, n) =>
      anEvent({
        workspace: id,
        schemaId: schemaId as SchemaId,
        schemaVersion: 1,
        identifiers: [{ namespace: "email", value: email }],
        effectiveTs: instantOf(Date.now() - (count - n) * 1_000),
        receivedAt: Date.now() - count + n,
        payload: Buffer.from(JSON.stringify({ email, n, total: 0.1 })),
      }),
    );
    await events.insert(id, all);
    await events.fold(
      id,
      all.map((one) => aFold(one, { facet })),
    );
    return all;
  };

  return { workspace, id, schemaId, event, storeMany };
}
