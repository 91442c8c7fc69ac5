import { IMPORT_SERVERS_TABLE, runImportRow } from "../../scripts/drill/crash/import-row.js";
import { runCrashRow } from "../../scripts/drill/crash/row.js";
import { KEEPER_SERVERS_TABLE, runKeeperRow } from "../../scripts/drill/crash/keeper-row.js";
import { SERVERS_TABLE } from "../../scripts/drill/crash/table.js";
import { openServers } from "../../scripts/shared/grounds.js";
import { inLanes } from "../support/house/lanes.js";
import { serversUnderTest } from "../support/servers/servers.js";

describe("A process of the service on servers", () => {
  inLanes(SERVERS_TABLE, 2, (row) => runCrashRow(row, () => openServers({ ...serversUnderTest() })));
});

// One table after the other: the rows of both at once would wait for each other's processes.
describe("The keeper on servers", () => {
  inLanes(KEEPER_SERVERS_TABLE, 2, (row) => runKeeperRow(row, () => openServers({ ...serversUnderTest() })));
});

describe("An import on servers", () => {
  inLanes(IMPORT_SERVERS_TABLE, 2, (row) => runImportRow(row, () => openServers({ ...serversUnderTest() })));
});
