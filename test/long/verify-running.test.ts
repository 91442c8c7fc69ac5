import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, rm, stat } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { CHECKSUM_AT, offsetOf, PAGE_BYTES } from "../../store/embedded/file/page.js";
import { requireWholeLog } from "../../store/embedded/file/write-ahead-log.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { withFolder } from "../support/faults.js";
import { startApp } from "../support/service/app.js";

const SCRIPT = fileURLToPath(new URL("../../app/verify/main.js", import.meta.url));
const ADA = { namespace: "email", value: "ada@example.com" };

async function runVerify(dataDir: string, servers: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [SCRIPT], { env: { DATA_DIR: dataDir, ...servers } });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { stdout, stderr, status: child.exitCode };
}

async function flipChecksum(dataDir: string, page: number): Promise<void> {
  const file = await open(path.join(dataDir, "onym.db"), "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, offsetOf(page) + CHECKSUM_AT);
  await file.write(Buffer.from([byte[0]! ^ 1]), 0, 1, offsetOf(page) + CHECKSUM_AT);
  await file.close();
}

describe("npm run verify beside a process that uses the folder", () => {
  it("takes no page of a running store for damaged that its log still has, and lists one that is", () =>
    withFolder(async (dataDir) => {
      const app = await startApp({ DATA_DIR: dataDir, CHECKPOINT_MS: "60000" });
      try {
        await (await app.workspace()).send("POST", "/v1/identify", { identifiers: [ADA] });
        // As a checkpoint leaves it that a full disk cut short: in the file, without its checksum.
        const logged = requireWholeLog(path.join(dataDir, "onym.db-wal"), true).pages;
        const pages = (await stat(path.join(dataDir, "onym.db"))).size / PAGE_BYTES;
        await flipChecksum(dataDir, Math.max(...[...logged].filter((page) => page <= pages)));
        const { stdout, status } = await runVerify(dataDir);
        assert.match(stdout, /\(running\): all pages are whole\n/);
        assert.equal(status, 0);
        // By now none is in the log alone.
        await flipChecksum(dataDir, 5);
        const damaged = await runVerify(dataDir);
        assert.match(damaged.stdout, /^\S+onym\.db: page 5 is damaged \(\w+\)\n.* \(running\): damaged;/);
        assert.equal(damaged.status, 1);
      } finally {
        await app.service.close();
      }
    }));

  it("says that the file of a running store is not in its place, whose rows still agree", () =>
    withFolder(async (dataDir) => {
      const app = await startApp({ DATA_DIR: dataDir });
      try {
        await (await app.workspace()).send("POST", "/v1/identify", { identifiers: [ADA] });
        await rm(path.join(dataDir, "onym.db"));
        const { stdout, status } = await runVerify(dataDir);
        assert.match(
          stdout,
          /^\S+ \(running\): onym\.db was removed, moved or replaced: .*\n.*all pages are whole\nall rows agree\n$/,
        );
        assert.equal(status, 1);
      } finally {
        await app.service.close();
      }
    }));

  it("does not compare a copy of one part with the others, which go on at their servers", () =>
    withFolder(async (dataDir) => {
      const app = await startApp({ DATA_DIR: dataDir });
      try {
        for (const [name, scheme] of [
          ["RABBITMQ_URL", "amqp"],
          ["MONGODB_URL", "mongodb"],
          ["NEO4J_URL", "bolt"],
        ]) {
          const { stdout, stderr, status } = await runVerify(dataDir, { [name!]: `${scheme}://127.0.0.1:1` });
          assert.deepEqual([status, stdout], [2, ""]);
          assert.match(
            stderr,
            /^onym: DATA_DIR: a process uses the folder .*: stop it before verify, .* on servers\n$/,
          );
        }
      } finally {
        await app.service.close();
      }
    }));

  it("could not look where there is no store, or where the process that runs makes no copy", () =>
    withFolder(async (dataDir) => {
      const nowhere = await runVerify(path.join(dataDir, "nowhere"));
      assert.deepEqual([nowhere.status, nowhere.stdout], [2, ""]);
      assert.match(nowhere.stderr, /^onym: DATA_DIR: there is no store in .*nowhere\n$/);
      const store = await openEmbedded({ dataDir, checkpointMs: 60_000, onError: () => undefined });
      const refused = await runVerify(dataDir);
      await store.close();
      assert.deepEqual([refused.status, refused.stdout], [2, ""]);
      assert.match(refused.stderr, /^onym: cannot verify: the process that uses .* makes no copy: stop it/);
      await rm(path.join(dataDir, "onym.db"));
      const damaged = await runVerify(dataDir);
      assert.equal(damaged.status, 1);
      assert.match(damaged.stdout, /onym\.db is missing\n.*damaged/);
    }));
});
