import assert from "node:assert/strict";
import path from "node:path";
import { silentLog } from "../../app/logger.js";
import { copyStores } from "../../app/move/copy.js";
import { openSide, type Side } from "../../app/move/side.js";
import { readConfig } from "../../core/config.js";
import { AppError } from "../../core/errors.js";
import { withFolder } from "../support/faults.js";
import { startApp } from "../support/service/app.js";

/** Each of the methods is away at its first call. */
function awayAtFirst<T extends object>(port: T): T {
  const called = new Set<string>();
  const methods = Object.entries(port).map(([name, method]: [string, unknown]) => [
    name,
    async (...args: never[]) => {
      if (called.has(name)) return (method as (...args: never[]) => unknown)(...args);
      called.add(name);
      throw new AppError("unavailable", "The database is away.");
    },
  ]);
  return Object.fromEntries(methods) as T;
}

const flaky = (side: Side): Side => {
  const { catalog, audiences, webhooks } = side.backends;
  const ports = { catalog: awayAtFirst(catalog), audiences: awayAtFirst(audiences), webhooks: awayAtFirst(webhooks) };
  return { ...side, backends: { ...side.backends, ...ports } };
};

describe("A move whose catalog is away for a moment", () => {
  it("waits for it, on either side, while it reads and while it writes", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      const app = await startApp({ DATA_DIR: from });
      await (await app.workspace()).schema();
      await app.service.close();
      const sides = [await openSide(readConfig({ DATA_DIR: from }), silentLog)];
      sides.push(await openSide(readConfig({ DATA_DIR: to }), silentLog));
      try {
        const [source, target] = sides.map(flaky);
        const tallies = await copyStores(source!, target!, () => undefined);
        for (const { kind, from: here, to: there } of tallies) assert.deepEqual(there, here, kind);
        assert.equal(tallies.find(({ kind }) => kind === "schemas")!.to.rows, 1);
      } finally {
        for (const side of sides) await side.close();
      }
    }));
});
