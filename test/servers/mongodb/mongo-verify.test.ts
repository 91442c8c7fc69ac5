import assert from "node:assert/strict";
import { silentLog } from "../../../app/logger.js";
import { verify } from "../../../app/verify/verify.js";
import { readConfig } from "../../../core/config.js";
import { dropPlaces } from "../../support/house/places.js";
import { temporaryFolder } from "../../support/backends.js";
import { atRest, fillWorkspace } from "../../support/moving/world.js";
import { openMongoProxy } from "../../support/servers/mongo-faults.js";
import { ownPlaces, serversUnderTest } from "../../support/servers/servers.js";
import { OPERATOR_KEY, startApp } from "../../support/service/app.js";

describe("npm run verify of a MongoDB", () => {
  it("that is silent for some seconds waits, and reads on", async () => {
    const { MONGODB_URL } = ownPlaces(serversUnderTest());
    const settings = { RABBITMQ_URL: "", NEO4J_URL: "", MONGODB_URL: MONGODB_URL!, DATA_DIR: await temporaryFolder() };
    const proxy = await openMongoProxy(MONGODB_URL!);
    try {
      const app = await startApp({ OPERATOR_KEY, ...settings });
      await fillWorkspace(app, 8);
      await atRest(app);
      await app.service.close();
      let back: NodeJS.Timeout | null = null;
      // It asks for the time once the graph is read.
      const now = (): number => {
        if (back === null) {
          proxy.silence();
          back = setTimeout(() => proxy.resume(), 8_000);
        }
        return Date.now();
      };
      const { lines, isWhole } = await verify(
        readConfig({ ...settings, MONGODB_URL: proxy.url }),
        silentLog,
        false,
        now,
      );
      assert.ok(back !== null);
      assert.equal(isWhole, true, lines.join("\n"));
    } finally {
      await proxy.close();
      await dropPlaces(settings);
    }
  });
});
