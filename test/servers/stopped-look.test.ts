import { runStoppedLook } from "../../scripts/drill/crash/stopped.js";
import { openServers } from "../../scripts/shared/grounds.js";
import { serversUnderTest } from "../support/servers/servers.js";

const STOPPED_MS = 60_000;

describe("A process that is stopped between what a look reads and its save", () => {
  it("saves nothing stale when it goes on after a minute in which another one worked", async function () {
    this.timeout(5 * STOPPED_MS);
    await runStoppedLook(() => openServers({ ...serversUnderTest() }), STOPPED_MS);
  });
});
