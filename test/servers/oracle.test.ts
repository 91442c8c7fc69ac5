import { openOnServers } from "../support/oracle/place.js";
import { checkPrograms } from "../support/oracle/programs.js";
import { SEED } from "../support/random/random.js";

/** `PROGRAMS=200 TELL=1 SEED=...` runs more, and tells how often each command ran. */
const PROGRAMS = Number(process.env["PROGRAMS"] ?? 20);
/** More of them would wait for each other in one graph, and audiences would not come to rest in time. */
const AT_ONCE = 4;
const WORKERS = 2;

describe(`Random programs over HTTP on servers with ${WORKERS} workers, against a naive program (seed ${SEED})`, () => {
  it(`show what it computes, for ${PROGRAMS} programs`, async function () {
    this.timeout(300_000 + 45_000 * PROGRAMS);
    await checkPrograms(() => openOnServers(WORKERS), PROGRAMS, AT_ONCE);
  });
});
