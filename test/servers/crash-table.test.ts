import { runServersRow, SERVERS_ROWS } from "../../scripts/drill/crash/servers.js";
import { runCrashRow } from "../../scripts/drill/crash/row.js";
import { SERVERS_TABLE } from "../../scripts/drill/crash/table.js";
import { openServers } from "../../scripts/shared/grounds.js";

/** The servers that may be killed: those of this instance. */
const INSTANCE = process.env["ONYM_SERVERS_NAME"] ?? "";

describe("The service on servers", () => {
  before(() => {
    if (INSTANCE === "") throw new Error("ONYM_SERVERS_NAME is not set: run this by npm run test:servers");
  });

  for (const row of SERVERS_TABLE) it(row.title, () => runCrashRow(row, () => openServers(INSTANCE)));
  for (const row of SERVERS_ROWS) it(row.title, () => runServersRow(row, INSTANCE, () => openServers(INSTANCE)));
});
