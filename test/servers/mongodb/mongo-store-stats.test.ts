import assert from "node:assert/strict";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { createMongoStats } from "../../../store/mongo/stats.js";
import { statsStoreContract } from "../../contracts/stats-store.contract.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const { MONGODB_URL } = serversUnderTest();

describe("StatsStore on MongoDB", () => {
  for (const [sentence, check] of Object.entries(statsStoreContract))
    it(sentence, () =>
      withDatabase(MONGODB_URL, async (open) => check(await createMongoStats({ mongo: await open() }))),
    );

  it("two processes add to one count, and what is old goes by itself", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const [mongo, second] = [await open(), await open()];
      const [one, other] = [await createMongoStats({ mongo }), await createMongoStats({ mongo: second })];
      const workspace = newId<WorkspaceId>();
      const count = { workspace, minute: 7, keyId: null, schemaId: null, outcome: "accepted", events: 1 } as const;
      await Promise.all([one, other].flatMap((store) => Array.from({ length: 20 }, () => store.add([count]))));
      assert.deepEqual(await one.read(workspace, 7), [{ ...count, events: 40 }]);
      const indexes = await mongo.db.collection("stats").indexes();
      assert.equal(indexes.find(({ name }) => name === "expiry")?.expireAfterSeconds, 7_200);
    }));

  it("rejects as unavailable once the connection is closed", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const store = await createMongoStats({ mongo });
      await mongo.close();
      await rejectsAsUnavailable(() => store.read(newId<WorkspaceId>(), 0));
    }));
});
