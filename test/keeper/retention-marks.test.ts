import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { silentLog } from "../../app/logger.js";
import { newBuild } from "../../core/audience/audience.js";
import type { EventRecord } from "../../core/event/event.js";
import { newId, type AudienceId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import type { Log } from "../../core/log.js";
import type { EventStore } from "../../core/ports/event-store.js";
import { createRetention } from "../../keeper/retention.js";
import { createEmbeddedAudienceStore } from "../../store/embedded/audiences/audiences.js";
import { createEmbeddedMarkStore } from "../../store/embedded/audiences/marks.js";
import { createEmbeddedCatalog } from "../../store/embedded/catalog/catalog.js";
import { createEmbeddedEventStore } from "../../store/embedded/events/events.js";
import { openEmbedded, type EmbeddedStore } from "../../store/embedded/open.js";
import { onError, temporaryFolder } from "../support/backends.js";
import { aDataset, aFold, aKey, anEvent, aWorkspace, tombOf } from "../support/builders.js";

const DAY_MS = 86_400_000;
const NOW = 1_772_359_200_000;

async function portsOf(dataDir: string) {
  const store: EmbeddedStore = await openEmbedded({ dataDir, checkpointMs: 1_000, onError });
  return {
    catalog: createEmbeddedCatalog(store),
    events: createEmbeddedEventStore({ database: store.database, tombOf }),
    audiences: createEmbeddedAudienceStore(store),
    marks: createEmbeddedMarkStore(store),
    close: () => store.close(),
  };
}

describe("Retention in a workspace with audiences", () => {
  let ports: Awaited<ReturnType<typeof portsOf>>;
  let dataDir: string;
  before(async () => {
    dataDir = await temporaryFolder();
    ports = await portsOf(dataDir);
  });
  after(async () => {
    await ports.close();
    await rm(dataDir, { recursive: true });
  });

  /** An old folded event, in a facet that no look is to come to. */
  const foldedIn = async (): Promise<{ readonly workspace: WorkspaceId; readonly event: EventRecord }> => {
    const { workspaceId: workspace, ...more } = aWorkspace();
    await ports.catalog.createWorkspace({ workspaceId: workspace, ...more }, aKey({ workspace, role: "owner" }));
    const audience = {
      audienceId: newId<AudienceId>(),
      name: "one",
      text: "{}",
      rule: { kind: "and", parts: [] },
      version: 1,
      createdAt: NOW,
      build: newBuild("built"),
    } as const;
    await ports.audiences.changeAudiences(workspace, () => ({ audiences: [audience], deleted: [] }));
    await ports.catalog.putDataset(aDataset({ workspace, schemaId: "visit" as SchemaId, retentionDays: 1 }));
    const event = anEvent({ workspace, schemaId: "visit" as SchemaId, receivedAt: NOW - 2 * DAY_MS });
    await ports.events.insert(workspace, [event]);
    await ports.events.fold(workspace, [aFold(event)]);
    return { workspace, event };
  };
  const walkWith = (drop: EventStore["drop"]) =>
    createRetention({ ...ports, log: silentLog, events: { ...ports.events, drop }, now: () => NOW });
  const marked = async (workspace: WorkspaceId) =>
    (await ports.marks.marks(1_000)).filter((mark) => mark.workspace === workspace);
  const step = async (task: ReturnType<typeof walkWith>): Promise<void> => {
    while ((await task.step()) === 0);
  };

  it("leaves the marks of what it dropped when it dies right then: the next walk finds these events no more", async () => {
    const { workspace, event } = await foldedIn();
    const task = walkWith(async (...given) => {
      await ports.events.drop(...given);
      throw new Error("died");
    });
    await assert.rejects(step(task), /died/);
    assert.equal((await ports.events.find(workspace, event.eventId))?.status, "dropped");
    assert.deepEqual(
      (await marked(workspace)).map(({ uid }) => uid),
      [aFold(event).facet],
    );
  });

  it("marks again what it dropped: a look may have come between its first marks and the drop", async () => {
    const { workspace, event } = await foldedIn();
    const task = walkWith(async (ofWorkspace, ...given) => {
      await ports.marks.clear(await marked(ofWorkspace));
      return ports.events.drop(ofWorkspace, ...given);
    });
    await step(task);
    assert.equal((await ports.events.find(workspace, event.eventId))?.status, "dropped");
    assert.deepEqual(
      (await marked(workspace)).map(({ uid }) => uid),
      [aFold(event).facet],
    );
  });

  it("tells how many it dropped, not how many it tried: one whose fold is still to come stays", async () => {
    const { workspace } = await foldedIn();
    const waiting = anEvent({ workspace, schemaId: "visit" as SchemaId, receivedAt: NOW - 2 * DAY_MS });
    await ports.events.insert(workspace, [waiting]);
    const told: unknown[] = [];
    const log: Log = {
      ...silentLog,
      info: (fields, message) => fields["workspace"] === workspace && told.push([fields["deleted"], message]),
    };
    const task = createRetention({ ...ports, log, now: () => NOW });
    for (let walks = 0; walks < 2; walks += 1) await step(task);
    assert.deepEqual(told, [[1, "retention deleted what was kept for its time"]]);
  });
});
