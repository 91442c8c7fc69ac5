import assert from "node:assert/strict";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { encodeMessage } from "../../../core/event/message.js";
import { isAppError } from "../../support/errors.js";
import { createEmbeddedEventStore } from "../../../store/embedded/events/events.js";
import { createEmbeddedProfileStore } from "../../../store/embedded/profiles.js";
import { ConfigError } from "../../../core/config.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { createTables } from "../../../store/embedded/schema.js";
import { onError, temporaryFolder } from "../../support/backends.js";
import { anEvent, aFold, tombOf } from "../../support/builders.js";
import { killChildren, startChild } from "../../support/service/child.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";

const options = { checkpointMs: 60_000, onError };

describe("The embedded store", () => {
  let dataDir: string;
  let opened: EmbeddedStore[];
  const open = async (folder = dataDir): Promise<EmbeddedStore> => {
    const store = await openEmbedded({ dataDir: folder, ...options });
    opened.push(store);
    return store;
  };
  beforeEach(async () => {
    dataDir = join(await temporaryFolder(), "made", "at", "start");
    opened = [];
  });
  afterEach(async () => {
    await killChildren();
    for (const store of opened) await store.close();
    await rm(join(dataDir, "..", "..", ".."), { recursive: true });
  });

  it("makes its folder for its owner alone", async () => {
    await open();
    assert.equal((await stat(dataDir)).mode & 0o777, 0o700);
  });

  it("names the setting when the folder cannot be made or holds what is not its own", async () => {
    const namesIt = (error: Error) => error instanceof ConfigError && error.message.startsWith("DATA_DIR: ");
    await assert.rejects(open("/proc/onym/data"), namesIt);
    for (const name of ["onym.db", "lock.db"]) {
      const folder = join(dataDir, name);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, name), "not a database, but longer than the header of one ".repeat(200));
      await assert.rejects(open(folder), namesIt, name);
    }
    const file = join(dataDir, "file");
    await writeFile(file, "");
    await assert.rejects(open(file), namesIt);
  });

  it("refuses a second owner of the folder with a message that names the setting and the folder", async () => {
    const store = await open();
    await assert.rejects(
      open(),
      (error: Error) => error.message.includes("DATA_DIR") && error.message.includes(dataDir),
    );
    await store.close();
    await (await open()).close();
  });

  it("refuses a second process, until the first is killed", async () => {
    const first = startChild("hold", dataDir);
    await eventually("the first process owns the folder", () => first.lines.includes("opened"));
    const second = startChild("hold", dataDir);
    await second.ended();
    assert.match(second.lines.join(), /^failed DATA_DIR: .*another process/);
    await assert.rejects(open(), /DATA_DIR/);
    await first.kill();
    await open();
  });

  it("refuses a second process though the lock file was removed", async () => {
    const first = startChild("hold", dataDir);
    await eventually("the first process owns the folder", () => first.lines.includes("opened"));
    await rm(join(dataDir, "lock.db"));
    const second = startChild("hold", dataDir);
    await second.ended();
    assert.match(second.lines.join(), /^failed DATA_DIR: .*another process/);
    await first.kill();
    await open();
  });

  it("refuses a database that is missing or empty where a store was, and begins anew only in an empty folder", async () => {
    const names = ["onym.db", "lock.db", "onym.db-wal"];
    const leave = async (kept: readonly string[]): Promise<void> => {
      for (const name of names) if (!kept.includes(name)) await rm(join(dataDir, name), { force: true });
    };
    await (await open()).close();
    await writeFile(join(dataDir, "onym.db-wal"), "");
    await rm(join(dataDir, "onym.db"));
    for (const kept of [names, ["lock.db"]]) {
      await leave(kept);
      await assert.rejects(open(), /^Error: DATA_DIR: .*onym\.db is missing beside .*backup.*empty the whole folder/);
    }
    await leave([]);
    await writeFile(join(dataDir, "onym.db-wal"), "");
    await assert.rejects(open(), /onym\.db is missing beside .*-wal/);
    await writeFile(join(dataDir, "onym.db"), "");
    await assert.rejects(open(), /onym\.db was emptied/);
    await leave(["onym.db"]);
    await assert.rejects(open(), /onym\.db was emptied/);
    await leave([]);
    await open();
  });

  it("frees the folder when its opening fails, and names both formats of data that it does not know", async () => {
    const store = await open();
    store.database.prepare("UPDATE formats SET format = 99").run([]);
    await store.close();
    const isOneLine = (error: Error): boolean => {
      assert.match(
        error.message,
        /^DATA_DIR: the data there has format 99 \(store\), and this build knows format \d+ alone$/,
      );
      return error instanceof ConfigError;
    };
    for (let time = 0; time < 2; time += 1) await assert.rejects(open(), isOneLine);
  });

  it("takes a file with tables and without a number for one of format 0", async () => {
    const { database } = await open();
    database.prepare("DELETE FROM formats").run([]);
    await Promise.all(opened.map((store) => store.close()));
    await assert.rejects(open(), /has format 0 \(store\), and this build knows format \d+ alone/);
  });

  it("makes the tables of each part once, and all of them or none", async () => {
    const { database } = await open();
    const tables = (): readonly unknown[] =>
      database.prepare("SELECT name FROM sqlite_master WHERE name GLOB '[abc]' ORDER BY name").all([]).flat();
    const part = { part: "part", format: 1, sql: "CREATE TABLE a (id INTEGER); CREATE INDEX c ON a (id)" };
    createTables(database, part);
    createTables(database, part);
    assert.deepEqual(tables(), ["a", "c"]);
    for (const format of [0, 2]) assert.throws(() => createTables(database, { ...part, format }), /format 1 \(part\)/);
    const broken = { part: "other", format: 1, sql: "CREATE TABLE b (id INTEGER); CREATE TABLE a (id INTEGER)" };
    assert.throws(() => createTables(database, broken));
    assert.deepEqual(tables(), ["a", "c"]);
  });

  it("refuses a port that was closed, and serves the others", async () => {
    const { database } = await open();
    const [profiles, other] = [createEmbeddedProfileStore({ database }), createEmbeddedProfileStore({ database })];
    const ws = newId<WorkspaceId>();
    await profiles.close();
    await rejectsAsUnavailable(() => profiles.find(ws, []));
    await rejectsAsUnavailable(() => profiles.save(ws, []));
    await rejectsAsUnavailable(() => profiles.ready());
    assert.deepEqual(await other.save(ws, []), []);
    await other.ready();
  });

  it("loses nothing that it acknowledged when its process is killed", async () => {
    const child = startChild("publish", dataDir);
    await eventually("a thousand are acknowledged", () => child.lines.length > 1_000);
    await child.kill();
    const { database } = await open();
    const stored = new Set(
      database
        .prepare("SELECT message FROM queue JOIN messages USING (seq)")
        .all([])
        .map(([message]) => String(message)),
    );
    const acknowledged = child.lines;
    assert.deepEqual(
      acknowledged.filter((name) => !stored.has(name)),
      [],
    );
    assert.ok(stored.size <= acknowledged.length + 16, "at most one turn was stored and not acknowledged");
  });

  it("says damaged when a bit of a stored event has flipped", async () => {
    const { database } = await open();
    const events = createEmbeddedEventStore({ database, tombOf });
    const event = anEvent();
    const mark = aFold(event);
    const { workspace, eventId } = event;
    await events.insert(workspace, [event]);
    await events.fold(workspace, [mark]);
    const [message] = database.prepare("SELECT message FROM messages").get([]) as [Buffer];
    for (const position of [5, message.length - 2]) {
      const flipped = Buffer.from(message);
      flipped[position]! ^= 1;
      database.prepare("UPDATE messages SET message = ?").run([flipped]);
      await assert.rejects(events.find(workspace, eventId), isAppError("damaged"));
      await assert.rejects(events.insert(workspace, [event]), isAppError("damaged"));
      await assert.rejects(
        events.timeline(workspace, [mark.facet], { limit: 1, bytesMax: 1, before: null }),
        isAppError("damaged"),
      );
    }
    database.prepare("UPDATE messages SET message = ?").run([message]);
    assert.equal((await events.find(workspace, eventId))?.status, "folded");
  });

  it("says damaged when an event of another workspace stands where one of this should", async () => {
    const { database } = await open();
    const events = createEmbeddedEventStore({ database, tombOf });
    const [event, foreign] = [anEvent(), anEvent()];
    await events.insert(event.workspace, [event]);
    const message = encodeMessage({ ...foreign, eventId: event.eventId });
    database.prepare("UPDATE messages SET message = ?").run([message]);
    database.prepare("UPDATE events SET crc = ?").run([crc32(message)]);
    await assert.rejects(events.find(event.workspace, event.eventId), isAppError("damaged"));
  });
});
