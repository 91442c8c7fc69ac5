import { runCrashRow } from "../../scripts/drill/crash/row.js";
import { IMPORT_TABLE, runImportRow } from "../../scripts/drill/crash/import-row.js";
import { KEEPER_TABLE, runKeeperRow } from "../../scripts/drill/crash/keeper-row.js";
import { CRASH_TABLE } from "../../scripts/drill/crash/table.js";
import { openFolder } from "../../scripts/shared/grounds.js";
import { inLanes } from "../support/house/lanes.js";

describe("The service on the embedded store", () => {
  inLanes(CRASH_TABLE, 2, (row) => runCrashRow(row, openFolder));
});

// One table after the other: the rows of both at once would wait for each other's processes.
describe("The keeper on the embedded store", () => {
  inLanes(KEEPER_TABLE, 2, (row) => runKeeperRow(row, openFolder));
});

describe("An import on the embedded store", () => {
  inLanes(IMPORT_TABLE, 2, (row) => runImportRow(row, openFolder));
});
