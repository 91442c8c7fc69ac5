import { runServersRow, SERVERS_ROWS } from "../../scripts/drill/crash/servers.js";
import { openServers } from "../../scripts/shared/grounds.js";

/** The servers that may be killed: those of this instance. */
const INSTANCE = process.env["ONYM_SERVERS_NAME"] ?? "";

describe("The service whose servers end", () => {
  before(() => {
    if (INSTANCE === "") throw new Error("ONYM_SERVERS_NAME is not set: run this by npm run test:servers");
  });

  for (const row of SERVERS_ROWS) it(row.title, () => runServersRow(row, INSTANCE, () => openServers(INSTANCE)));
});
