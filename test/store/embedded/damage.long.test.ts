import assert from "node:assert/strict";
import { readFile, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { verifyFolder } from "../../../store/embedded/file/verify.js";
import { temporaryFolder } from "../../support/backends.js";
import { isAppError } from "../../support/errors.js";
import { copyStore, flip } from "../../support/files.js";
import { eventually } from "../../support/eventually.js";
import { createRandom, SCALE } from "../../support/random/random.js";
import { killChildren, startChild } from "../../support/service/child.js";

const PAGE_BYTES = 4_096;

describe("A damaged embedded store", () => {
  let folder: string;
  let dataDir: string;
  let opened: EmbeddedStore[];
  let alarms: string[];
  const open = async (dataFolder = dataDir): Promise<EmbeddedStore> => {
    const onError = (message: string, error: unknown): void => void alarms.push(`${message} ${String(error)}`);
    const store = await openEmbedded({ dataDir: dataFolder, checkpointMs: 60_000, onError });
    opened.push(store);
    return store;
  };
  beforeEach(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, "data");
    [opened, alarms] = [[], []];
  });
  afterEach(async () => {
    await killChildren();
    for (const store of opened) await store.close();
    await rm(folder, { recursive: true });
  });

  describe("with a flipped bit in its file", () => {
    const ROWS = 400;
    /** Some rows are longer than a page, and some keys longer than an index keeps in one. */
    const keyOf = (row: number): Buffer => Buffer.from(`key ${row} ${"k".repeat(row % 25 === 0 ? 3_000 : 20)}`);
    const facetOf = (row: number): string => JSON.stringify({ row, text: "x".repeat(row % 40 === 0 ? 9_000 : 50) });
    /** Of what waits in the queue only the page's checksum tells that it is right. */
    const MESSAGES = 8;
    const messageOf = (seq: number): Buffer => Buffer.from(`message ${seq} ${"m".repeat(20_000)}`);
    const fill = async (): Promise<void> => {
      const store = await open();
      const insert = store.database.prepare("INSERT INTO facets (key, rev, facet) VALUES (?, 1, ?)");
      await store.database.write(() => {
        for (let row = 0; row < ROWS; row += 1) insert.run([keyOf(row), facetOf(row)]);
      });
      const add = ["INSERT INTO messages (seq, message) VALUES (?, ?)", "INSERT INTO queue (seq) VALUES (?)"];
      const [addMessage, addRow] = add.map((sql) => store.database.prepare(sql));
      await store.database.write(() => {
        for (let seq = 1; seq <= MESSAGES; seq += 1) {
          addMessage!.run([seq, messageOf(seq)]);
          addRow!.run([seq]);
        }
      });
      await store.close();
    };
    /** The same of what waits in the queue. */
    const lookInQueue = ({ database }: EmbeddedStore): readonly string[] => {
      const find = database.prepare("SELECT message FROM queue JOIN messages USING (seq) WHERE seq = ?");
      return Array.from({ length: MESSAGES }, (_, index) => {
        try {
          const found = database.read(() => find.get([index + 1]))?.[0] as Buffer | undefined;
          return found?.equals(messageOf(index + 1)) === true ? "right" : `wrong: message ${index + 1}`;
        } catch (error) {
          assert.ok(isAppError("damaged")(error), String(error));
          return "damaged";
        }
      });
    };
    /** Of each row by its key: "right", "damaged", or what was answered instead. */
    const look = ({ database }: EmbeddedStore): readonly string[] => {
      const find = database.prepare("SELECT facet FROM facets WHERE key = ?");
      return Array.from({ length: ROWS }, (_, row) => {
        try {
          const found = database.read(() => find.get([keyOf(row)]))?.[0];
          return found === facetOf(row) ? "right" : `wrong: ${String(found)}`;
        } catch (error) {
          assert.ok(isAppError("damaged")(error), String(error));
          assert.match((error as Error).message, /^A stored record is damaged: facets\.$/);
          return "damaged";
        }
      });
    };
    const pages = async (): Promise<number> => (await stat(join(dataDir, "onym.db"))).size / PAGE_BYTES;

    it("answers each row rightly or says that it is damaged, wherever the bit is", async () => {
      await fill();
      const random = createRandom(20_261_122);
      const last = await pages();
      let damaged = 0;
      for (let page = 2; page <= last; page += Math.ceil(5 / SCALE)) {
        const copy = await copyStore(dataDir, join(folder, `copy-${page}`));
        await flip(join(copy, "onym.db"), (page - 1) * PAGE_BYTES + random.below(PAGE_BYTES), 1 << random.below(8));
        alarms = [];
        const store = await open(copy).catch((error: Error) => error);
        if (store instanceof Error) {
          assert.match(store.message, /damaged/);
          continue;
        }
        const told = alarms.length;
        const found = [...look(store), ...lookInQueue(store)];
        assert.deepEqual(new Set([...found, "right"]), new Set(told > 0 ? [...found, "right"] : ["right"]));
        assert.deepEqual(
          [...new Set(found)].filter((one) => one.startsWith("wrong")),
          [],
          `page ${page}`,
        );
        damaged += found.filter((one) => one === "damaged").length;
        await store.close();
      }
      assert.ok(damaged > 100, `${damaged} answers of ${last} copies were damaged`);
    });

    it("names in the log what is damaged, keeps the page, and goes on with the rest until it is restored", async () => {
      await fill();
      const file = join(dataDir, "onym.db");
      const page = Math.floor((await pages()) / 2);
      await flip(file, page * PAGE_BYTES + 99);
      const before = (await readFile(file)).subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
      for (let time = 0; time < 2; time += 1) {
        alarms = [];
        const store = await open();
        assert.match(
          alarms.join(),
          /^the embedded store is damaged: facets: 1 page Error: .*onym\.db has damaged pages \(facets: 1 page\)\. Restore/,
        );
        const insert = store.database.prepare("INSERT INTO facets (key, rev, facet) VALUES (?, 1, '{}')");
        await store.database.write(() => void insert.run([Buffer.from(`new ${time}`)]));
        await store.close();
      }
      assert.deepEqual(await readFile(`${file}-page-${page + 1}`), before);
    });

    it("refuses to start when it is in the first page", async () => {
      await fill();
      const file = join(dataDir, "onym.db");
      for (const position of [16, 20, 28, 60, 62, 105, 2_000, PAGE_BYTES - 1]) {
        await flip(file, position);
        await assert.rejects(
          open(),
          /^Error: (DATA_DIR: )?.*onym\.db.* (its first page is damaged|is damaged: it is missing)/,
        );
        await flip(file, position);
      }
      await open();
    });

    it("commits the other writes of a group when one of them meets damage", async () => {
      await fill();
      const rootOf = "SELECT rootpage FROM sqlite_master WHERE name = 'traits'";
      const first = await open();
      const [root] = first.database.prepare(rootOf).get([]) as [number];
      await first.close();
      await flip(join(dataDir, "onym.db"), (root - 1) * PAGE_BYTES + 200);
      const { database } = await open();
      const good = database.prepare("INSERT INTO facets (key, rev, facet) VALUES (?, 1, '{}')");
      const bad = database.prepare("INSERT INTO traits (ws, name, merge) VALUES ('w', 'n', 'm')");
      const taken = new Error("mine");
      const outcomes = await Promise.allSettled([
        database.write(() => good.run([Buffer.from("one")])),
        database.write(() => bad.run([])),
        database.write(() => {
          throw taken;
        }),
        database.write(() => good.run([Buffer.from("two")])),
        database.write(() => bad.run([])),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["fulfilled", "rejected", "rejected", "fulfilled", "rejected"],
      );
      const reasons = outcomes.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
      assert.deepEqual(reasons, [
        "AppError: A stored record is damaged: traits.",
        "Error: mine",
        "AppError: A stored record is damaged: traits.",
      ]);
      const count = database.prepare(
        "SELECT count(*) FROM facets WHERE key IN (CAST('one' AS BLOB), CAST('two' AS BLOB))",
      );
      assert.deepEqual(count.get([]), [2]);
      await Promise.all(
        [1, 2].map(() => assert.rejects(database.readTogether(() => database.prepare("SELECT * FROM traits").all([])))),
      );
      database.check();
    });

    it("is told in the log of a store that is open, and does not reach what is in memory", async () => {
      await fill();
      const onError = (message: string, error: unknown): void => void alarms.push(`${message} ${String(error)}`);
      const store = await openEmbedded({ dataDir, checkpointMs: 10, onError });
      opened.push(store);
      const last = await pages();
      for (let page = 3; page < last; page += 3) await flip(join(dataDir, "onym.db"), page * PAGE_BYTES + 99);
      // SQLite reads what is longer than a page from the file each time.
      const short = look(store).filter((_, row) => row % 25 !== 0 && row % 40 !== 0);
      assert.deepEqual(new Set(short), new Set(["right"]));
      await eventually("it is told", () =>
        alarms.some((alarm) => /damaged: page \d+ Error: page \d+ of .*onym\.db is damaged/.test(alarm)),
      );
    });

    it("is listed by verify, which changes nothing", async () => {
      await fill();
      const file = join(dataDir, "onym.db");
      assert.deepEqual(verifyFolder(dataDir), []);
      const page = Math.floor((await pages()) / 2);
      await flip(file, (page - 1) * PAGE_BYTES + 99);
      const before = await readFile(file);
      const damage = verifyFolder(dataDir);
      assert.equal(damage.length, 1);
      assert.match(
        damage[0]!,
        new RegExp(`onym\\.db: page ${page} is damaged \\((facets|sqlite_autoindex_facets_1)\\)`),
      );
      assert.deepEqual(await readFile(file), before);
      await (await open()).close();
      // With the page where its row begins, if it is one that a long row goes on in.
      const after = verifyFolder(dataDir);
      assert.ok(after[0]!.includes(`page ${page} is damaged`) && after.length <= 2, `still listed: ${after.join()}`);
    });

    it("is listed by verify where the log of a killed store is missing, too", async () => {
      const child = startChild("hold", dataDir);
      await eventually("the store is open", () => child.lines.includes("opened"));
      await child.kill();
      await rm(join(dataDir, "onym.db-wal"));
      assert.match(verifyFolder(dataDir).join(), /onym\.db-wal is damaged: it is missing/);
    });

    it("says so when the file was cut", async () => {
      await fill();
      await truncate(join(dataDir, "onym.db"), ((await pages()) - 3) * PAGE_BYTES + 1_000);
      const store = await open();
      const found = [...look(store), ...lookInQueue(store)];
      assert.match(alarms[0]!, /onym\.db has damaged pages/);
      assert.deepEqual(new Set(found), new Set(["right", "damaged"]));
      await Promise.all(opened.map((store) => store.close()));
      await truncate(join(dataDir, "onym.db"), 1_000);
      await assert.rejects(open(), /onym\.db was cut, or is not Onym's/);
    });
  });

  it("finds no damage after a crash, wherever its checkpoints were", async () => {
    for (let time = 0; time < 3; time += 1) {
      const child = startChild("publish", dataDir);
      await eventually("it has made some checkpoints", () => child.lines.length > 3_000);
      await child.kill();
      await (await open()).close();
      assert.deepEqual(alarms, []);
    }
  });
});
