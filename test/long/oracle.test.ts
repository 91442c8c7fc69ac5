import { openEmbedded } from "../support/oracle/place.js";
import { checkPrograms } from "../support/oracle/programs.js";
import { SEED } from "../support/random/random.js";

/** `PROGRAMS=5000 TELL=1 SEED=...` runs more, and tells how often each command ran. */
const PROGRAMS = Number(process.env["PROGRAMS"] ?? 500);
const AT_ONCE = 16;

describe(`Random programs over HTTP against a naive program (seed ${SEED})`, () => {
  it(`show what it computes, for ${PROGRAMS} programs`, async function () {
    this.timeout(120_000 + 3_000 * PROGRAMS);
    await checkPrograms(() => openEmbedded(), PROGRAMS, AT_ONCE);
  });
});
