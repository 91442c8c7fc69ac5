import { runCrashRow } from "../../scripts/drill/crash/row.js";
import { CRASH_TABLE } from "../../scripts/drill/crash/table.js";
import { openFolder } from "../../scripts/shared/grounds.js";

/** So many rows at a time: most of a row is waiting for a process to start. */
const LANES = 2;

describe("The service on the embedded store", () => {
  const outcomes: Promise<void>[] = [];

  before(() => {
    for (const [index, row] of CRASH_TABLE.entries()) {
      const run = () => runCrashRow(row, openFolder);
      const outcome = (outcomes[index - LANES] ?? Promise.resolve()).then(run, run);
      // Its own test tells; until then a failure is no accident.
      outcome.catch(() => {});
      outcomes.push(outcome);
    }
  });

  for (const [index, { title }] of CRASH_TABLE.entries()) it(title, () => outcomes[index]);
});
