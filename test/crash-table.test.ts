import { runCrashRow } from "../scripts/drill/crash-row.js";
import { CRASH_TABLE } from "../scripts/drill/crash-table.js";

describe("The service, on the embedded store,", () => {
  for (const row of CRASH_TABLE) it(row.title, () => runCrashRow(row));
});
