import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLog } from "../../app/logger.js";
import { AppError } from "../../core/errors.js";
import { encodeMessage } from "../../core/event/message.js";
import { newId, type DeadLetterId, type SchemaId } from "../../core/ids.js";
import { createRetention, type RetentionDeps } from "../../keeper/retention.js";
import { createEmbeddedEventStore } from "../../store/embedded/events/events.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { temporaryFolder } from "../support/backends.js";
import { aDataset, aDeadLetter, anEvent, aWorkspace, noAudiences, tombOf } from "../support/builders.js";

const NOW = 1_772_359_200_000;

describe("Letters on damaged pages", () => {
  it("let a walk of the retention end, though they fill the page that it reads", async () => {
    const workspace = aWorkspace();
    const { workspaceId } = workspace;
    const schemaId = "visit" as SchemaId;
    const letters = Array.from({ length: 500 }, () => ({ deadLetterId: newId<DeadLetterId>(), receivedAt: 0 }));
    let tries = 0;
    const catalog: RetentionDeps["catalog"] = {
      workspaces: async ({ after }) => (after === null ? [workspace] : []),
      datasets: async () => [aDataset({ workspace: workspaceId, schemaId, retentionDays: 1 })],
    };
    const events: RetentionDeps["events"] = {
      ofSchema: async () => [],
      drop: async () => 0,
      looseLetters: async () => letters,
      removeLetters: async (_, ids) => {
        if (ids.length === 1) tries += 1;
        throw new AppError("damaged", "The stored record is damaged.");
      },
    };
    const task = createRetention({ ...noAudiences, log: silentLog, catalog, events, now: () => NOW });
    let pieces = 0;
    while ((await task.step()) === 0) assert.ok((pieces += 1) < 9, "it tries them again and again");
    assert.equal(tries, letters.length);
  });

  it("are found by their age, as all others of the schema are", async () => {
    const { workspaceId: workspace } = aWorkspace();
    const schemaId = "visit" as SchemaId;
    const folder = await temporaryFolder();
    const open = async () => {
      const store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: () => undefined });
      return { store, events: createEmbeddedEventStore({ database: store.database, tombOf }) };
    };
    const first = await open();
    const letters = Array.from({ length: 100 }, (_, n) => {
      const payload = Buffer.from(`{"mark": "letter ${n} of them"}`);
      const event = anEvent({ workspace, schemaId, receivedAt: n, payload });
      return aDeadLetter({ workspace, eventId: event.eventId, message: encodeMessage(event) });
    });
    for (const letter of letters) await first.events.bury(letter);
    await first.store.close();
    const file = join(folder, "onym.db");
    const bytes = await readFile(file);
    bytes[bytes.indexOf("letter 50 of them")]! ^= 1;
    await writeFile(file, bytes);
    const { store, events } = await open();
    await assert.rejects(events.findDeadLetter(workspace, letters[50]!.deadLetterId));
    const found = await events.looseLetters(workspace, schemaId, { until: 100, limit: 500 });
    assert.deepEqual(
      found.map(({ deadLetterId }) => deadLetterId),
      letters.map(({ deadLetterId }) => deadLetterId),
    );
    await store.close();
    await rm(folder, { recursive: true });
  });
});
