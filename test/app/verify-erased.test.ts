import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import { createFindings } from "../../app/verify/findings.js";
import { verifyDocuments } from "../../app/verify/documents.js";
import { encodeMessage } from "../../core/event/message.js";
import { newId, type EventId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { emptyFacet } from "../../core/profile/fold.js";
import { anEvent } from "../support/builders.js";
import { useApp } from "../support/service/app.js";
import { atRest } from "../support/moving/world.js";

describe("npm run verify, of people who were erased", () => {
  const app = useApp({});

  it("drops an event whose fold was only begun when it was copied, and which the erasure did not find", async () => {
    const { backends, identity } = app().service;
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    const identifiers = [{ namespace: "email", value: "ada@example.com" }];
    await workspace.send("POST", "/v1/identify", { identifiers });
    const [ref] = await identity.lookup(id, identifiers);
    await workspace.send("POST", "/v1/erasures", { identifiers, suppress: false });
    await atRest(app());
    const event = anEvent({ workspace: id, identifiers });
    const message = encodeMessage(event);
    const fold = { facet: ref!.uid, profileId: newId<ProfileId>(), dropped: null, isDone: false };
    const row = { ...event, message, crc: crc32(message), reason: null, gone: null, fold };
    await backends.copying.documents.load("events", [row]);
    // As on servers: only what is folded is found by its facet.
    const events = { ...backends.events, foldedInto: async (): Promise<readonly EventId[]> => [] };
    const look = async (isRepair: boolean) => {
      const findings = createFindings();
      await verifyDocuments({
        backends: { ...backends, events },
        identity,
        findings,
        isRepair,
        gainOf: async () => emptyFacet,
        now: () => Date.now() + 120_000,
      });
      return findings.lines();
    };
    assert.match((await look(false)).join("\n"), /^erased_bytes: 1 [^;]*$/);
    assert.match((await look(true)).join("\n"), /^erased_bytes: 1 .*; 1 mended/);
    assert.equal((await backends.events.find(id, event.eventId))?.status, "dropped");
    assert.deepEqual(await look(true), []);
  });
});
