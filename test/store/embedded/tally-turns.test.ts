import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { instantOf } from "../../../core/event/time.js";
import { newId, type TallyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { createEmbeddedEventStore } from "../../../store/embedded/events/events.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { createEmbeddedTallyStore } from "../../../store/embedded/tallies/tallies.js";
import { createOwnKeys, uuidBytes } from "../../../store/embedded/uuid.js";
import { temporaryFolder } from "../../support/backends.js";
import { tombOf } from "../../support/builders.js";

const [FACETS, ROWS] = [60, 100];

describe("Rows of many facets that the embedded store reads together", () => {
  const [workspace, tallyId] = [newId<WorkspaceId>(), newId<TallyId>()];
  const uids = Array.from({ length: FACETS }, () => newId<Uid>());
  const ask = { tallyId, uids, since: null };
  let folder: string;
  let store: EmbeddedStore;

  before(async () => {
    folder = await temporaryFolder();
    store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: () => undefined });
    const { database } = store;
    createEmbeddedEventStore({ database, tombOf });
    const insert = database.prepare("INSERT INTO tallies (facet, tally, position, amount) VALUES (?, ?, ?, 1)");
    const keyOf = createOwnKeys(workspace);
    const positions = Array.from({ length: ROWS }, (_, n) =>
      Buffer.concat([Buffer.from(instantOf(1_800_000_000_000 + n)), uuidBytes(newId())]),
    );
    await database.write(() => {
      for (const uid of uids) for (const position of positions) insert.run([keyOf(uid), uuidBytes(tallyId), position]);
    });
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  /** How often others have a turn of the event loop meanwhile. */
  const turnsOf = async (limit: number, hasAmounts: boolean): Promise<number> => {
    const tallies = createEmbeddedTallyStore(store);
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await tallies.newestOfEach(workspace, [{ ...ask, limit, hasAmounts }]);
    isOver = true;
    return turns;
  };

  it("are not many in one turn of the event loop", async () => {
    for (const hasAmounts of [false, true]) {
      const turns = await turnsOf(ROWS, hasAmounts);
      assert.ok(turns >= 3, `${turns} turns for ${FACETS * ROWS} rows`);
    }
  });

  it("are read in one where they are few", async () => {
    assert.equal(await turnsOf(1, false), 0);
  });
});
