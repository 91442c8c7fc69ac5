import { SEED } from "../support/random.js";
import { checkPrograms } from "../support/oracle/programs.js";
import { startApp, type App } from "../support/service/app.js";

/** `PROGRAMS=5000 TELL=1 SEED=... npx mocha ...` runs more, and tells how often each command ran. */
const PROGRAMS = Number(process.env["PROGRAMS"] ?? 500);
const AT_ONCE = 32;

describe(`Random programs over HTTP against a naive program (seed ${SEED})`, () => {
  const ahead = new Map<string, number>();
  let app: App;
  before(async () => {
    app = await startApp({}, { ahead: (workspace) => ahead.get(workspace) ?? 0 });
  });
  after(() => app.close());

  it(`show what it computes, for ${PROGRAMS} programs`, async function () {
    this.timeout(60_000 + 1_000 * PROGRAMS);
    await checkPrograms({ app, ahead }, PROGRAMS, AT_ONCE);
  });
});
