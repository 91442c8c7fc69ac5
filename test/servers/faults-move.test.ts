import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { silentLog } from "../../app/logger.js";
import { openSide } from "../../app/move/side.js";
import type { ServiceOptions } from "../../app/service.js";
import { readConfig } from "../../core/config.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { dropPlaces } from "../support/house/places.js";
import { answersOf, atRest, fillWorkspace } from "../support/moving/world.js";
import { openCypher, neo4jUnderTest } from "../support/servers/neo4j-backend.js";
import { ownPlaces, serversUnderTest } from "../support/servers/servers.js";
import { OPERATOR_KEY, startApp, type App, type Settings } from "../support/service/app.js";
import { temporaryFolder } from "../support/backends.js";

const SCRIPT = fileURLToPath(new URL("../../app/move/main.js", import.meta.url));

/** `npm run move` with the servers in its environment; killed after the time, if there is one. */
async function runMove(settings: Settings, given: readonly string[], killAfterMs: number | null = null) {
  const child = spawn(process.execPath, [SCRIPT, ...given], { env: { ...settings } });
  const timer = killAfterMs === null ? null : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  if (timer !== null) clearTimeout(timer);
  return { stdout, stderr, status: child.exitCode };
}

/** One database serves all of Neo4j, and these tests have it to themselves. */
async function emptyNeo4j(): Promise<void> {
  const cypher = openCypher(neo4jUnderTest());
  while ((await cypher.rows("MATCH (n) WITH n LIMIT 2000 DETACH DELETE n RETURN count(*)"))[0]![0] !== 0);
  await cypher.close();
}

const EMBEDDED: Settings = { RABBITMQ_URL: "", MONGODB_URL: "", NEO4J_URL: "" };
const ofFolder = (dataDir: string): Settings => ({ ...EMBEDDED, DATA_DIR: dataDir });
const FOREIGN = ["one", "two", "three"].map((word) => ({
  message: Buffer.from(word),
  attempts: 2,
  failedAt: 1_772_359_200_000,
  crashes: 0,
}));

async function withService<T>(
  settings: Settings,
  use: (app: App) => Promise<T>,
  options: Partial<ServiceOptions> = {},
): Promise<T> {
  const app = await startApp({ OPERATOR_KEY, ...settings }, options);
  try {
    return await use(app);
  } finally {
    await app.service.close();
  }
}

async function anInstallation(dataDir: string) {
  const made = await withService(ofFolder(dataDir), async (app) => {
    const seen = [await fillWorkspace(app, 20), await fillWorkspace(app, 4)];
    await atRest(app);
    return { seen, answers: await Promise.all(seen.map((one) => answersOf(app.url, one))) };
  });
  const side = await openSide(readConfig({ DATA_DIR: dataDir }), silentLog);
  await side.queue.load(FOREIGN);
  await side.close();
  return made;
}

describe("npm run move to servers and back", () => {
  let folder = "";
  let places: Settings = {};
  beforeEach(async () => {
    await emptyNeo4j();
    folder = await temporaryFolder();
    places = { ...ownPlaces(serversUnderTest()), DATA_DIR: path.join(folder, "beside") };
  });
  afterEach(() => dropPlaces(places));

  it("answers as before on the servers, and again on a file; killed on the way and run again, the same", async () => {
    const from = path.join(folder, "from");
    const { seen, answers } = await anInstallation(from);
    let kills = 0;
    for (let afterMs = 500; ; afterMs *= 1.7) {
      const { status, stdout, stderr } = await runMove(places, ["--from", from, "--to-env"], afterMs);
      if (status === null) {
        kills += 1;
        continue;
      }
      // The one before was killed behind its last mark.
      if (status === 2 && stderr.includes("already: to move it on")) break;
      assert.equal(status, 0, stderr);
      assert.match(stdout, /messages +3 = 3/);
      break;
    }
    assert.ok(kills >= 2, `${kills} kills`);
    const there = await withService(places, async (app) => {
      const used = await runMove(places, ["--from-env", "--to", path.join(folder, "early")]);
      assert.equal(used.status, 2);
      assert.match(used.stderr, /a process of the service uses it/);
      while ((await app.service.backends.queue.depth()) > 0) await sleep(50);
      return Promise.all(seen.map((one) => answersOf(app.url, one)));
    });
    assert.deepEqual(there, answers);
    const back = await runMove(places, ["--from-env", "--to", path.join(folder, "back")]);
    assert.equal(back.status, 0, back.stderr);
    assert.match(back.stdout, /deadLetters +3 = 3/);
    await assert.rejects(
      withService(places, async () => undefined),
      /was moved to .*back/,
    );
    const again = await withService(ofFolder(path.join(folder, "back")), (app) =>
      Promise.all(seen.map((one) => answersOf(app.url, one))),
    );
    assert.deepEqual(again, answers);
  });

  it("broken between its last marks and run again, it takes off the marks that are left", async () => {
    const from = path.join(folder, "from");
    const { seen, answers } = await anInstallation(from);
    const moved = await runMove(places, ["--from", from, "--to-env"]);
    assert.equal(moved.status, 0, moved.stderr);
    const source = await openSide(readConfig({ DATA_DIR: from }), silentLog);
    const { moveId } = (await source.backends.places[0].mark())!;
    await source.close();
    for (const marked of [2, 1]) {
      const target = await openSide(readConfig(places), silentLog);
      assert.equal(target.backends.places.length, 2);
      for (const place of target.backends.places.slice(0, marked))
        await place.setMark({ moveId, state: "arriving", other: from });
      await target.close();
      await assert.rejects(
        withService(places, async () => undefined),
        /is being filled by a move from .*from/,
      );
      const again = await runMove(places, ["--from", from, "--to-env"]);
      assert.equal(again.status, 0, again.stderr);
      assert.equal(again.stdout, moved.stdout);
    }
    const there = await withService(places, (app) => Promise.all(seen.map((one) => answersOf(app.url, one))));
    assert.deepEqual(there, answers);
  });

  it("called off while it runs, it ends nothing: the service goes on where it was", async () => {
    const there = path.join(folder, "there");
    const { seen, answers } = await withService(places, async (app) => {
      const filled = [await fillWorkspace(app, 4)];
      await atRest(app);
      return { seen: filled, answers: await Promise.all(filled.map((one) => answersOf(app.url, one))) };
    });
    const given = ["--from-env", "--to", there];
    const child = spawn(process.execPath, [SCRIPT, ...given], {
      env: { ...places },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = Promise.all([text(child.stderr), once(child, "exit")]);
    const source = await openSide(readConfig(places), silentLog);
    while ((await source.backends.places[0].mark()) === null) await sleep(20);
    child.kill("SIGSTOP");
    await source.close();
    const cancelled = await runMove(places, [...given, "--cancel"]);
    assert.match(cancelled.stdout, /the service starts there again/, cancelled.stderr);
    child.kill("SIGCONT");
    const [stderr] = await ended;
    assert.deepEqual([child.exitCode, stderr.includes("the move was called off while it ran")], [2, true], stderr);
    const again = await withService(places, (app) => Promise.all(seen.map((one) => answersOf(app.url, one))));
    assert.deepEqual(again, answers);
    await assert.rejects(
      withService(ofFolder(there), async () => undefined),
      /is being filled by a move from mongodb/,
    );
  });

  it("moves into servers on which a service was started and never used, once no process of it runs any more", async () => {
    const from = path.join(folder, "from");
    const { seen, answers } = await anInstallation(from);
    await withService(places, async () => {
      const refused = await runMove(places, ["--from", from, "--to-env"]);
      assert.deepEqual([refused.status, refused.stdout], [2, ""]);
      assert.match(refused.stderr, /mongodb:.*: a process of the service uses it/);
    });
    for (const side of [ofFolder(from), places]) await withService(side, async () => undefined);
    const moved = await runMove(places, ["--from", from, "--to-env"]);
    assert.equal(moved.status, 0, moved.stderr);
    const there = await withService(places, (app) => Promise.all(seen.map((one) => answersOf(app.url, one))));
    assert.deepEqual(there, answers);
  });

  it("moves into some of the servers, with the rest in another folder", async () => {
    const from = path.join(folder, "from");
    const { seen, answers } = await anInstallation(from);
    const mixed = { ...places, NEO4J_URL: "", RABBITMQ_URL: "" };
    const moved = await runMove(mixed, ["--from", from, "--to-env"]);
    assert.equal(moved.status, 0, moved.stderr);
    const there = await withService({ ...EMBEDDED, ...mixed }, (app) =>
      Promise.all(seen.map((one) => answersOf(app.url, one))),
    );
    assert.deepEqual(there, answers);
  });

  it("sees a process that uses them, also while its time stands still", async () => {
    const at = Date.now();
    const look = async (app: App): Promise<void> => {
      await app.workspace();
      const used = await runMove(places, ["--from-env", "--to", path.join(folder, "early")]);
      assert.equal(used.status, 2, used.stdout);
      assert.match(used.stderr, /a process of the service uses it/);
    };
    await withService(places, look, { now: () => at });
  });

  it("refuses servers that are not empty, each by its name, and leaves all as it was", async () => {
    const [from, other] = [path.join(folder, "from"), path.join(folder, "other")];
    const { seen, answers } = await anInstallation(from);
    await withService(places, async (app) => void (await fillWorkspace(app, 2)));
    const full = await runMove(places, ["--from", from, "--to-env"]);
    assert.equal(full.status, 2);
    assert.match(full.stderr, /mongodb:.* is not empty.*catalog \(1\).*events \(/);
    const graph = { ...places, ...ownPlaces(serversUnderTest()) };
    const fullGraph = await runMove({ ...graph, DATA_DIR: other }, ["--from", from, "--to-env"]);
    assert.match(fullGraph.stderr, /bolt:.* is not empty.*Change \(/);
    await dropPlaces(graph);
    const still = await withService(ofFolder(from), (app) => Promise.all(seen.map((one) => answersOf(app.url, one))));
    assert.deepEqual(still, answers);
    await withService(places, async () => undefined);
  });

  it("leaves no mark where it cannot open the servers, so it may be run again with the right settings", async () => {
    const from = path.join(folder, "from");
    const { seen, answers } = await anInstallation(from);
    const wrong = new URL(places["RABBITMQ_URL"]!);
    wrong.password = "wrong";
    const refused = await runMove({ ...places, RABBITMQ_URL: wrong.toString() }, ["--from", from, "--to-env"]);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /RABBITMQ_URL: .* refused the user/);
    for (const side of [ofFolder(from), places]) await withService(side, async () => undefined);
    const moved = await runMove(places, ["--from", from, "--to-env"]);
    assert.equal(moved.status, 0, moved.stderr);
    const there = await withService(places, (app) => Promise.all(seen.map((one) => answersOf(app.url, one))));
    assert.deepEqual(there, answers);
  });

  it("moves with DATA_DIR as it was, and then starts on the servers, also while another process looks into it", async () => {
    const from = path.join(folder, "from");
    const { seen, answers } = await anInstallation(from);
    const same = { ...places, DATA_DIR: from };
    const moved = await runMove(same, ["--from", from, "--to-env"]);
    assert.equal(moved.status, 0, moved.stderr);
    const held = await openEmbedded({ dataDir: from, checkpointMs: 60_000, onError: () => {} });
    try {
      const there = await withService(same, (app) => Promise.all(seen.map((one) => answersOf(app.url, one))));
      assert.deepEqual(there, answers);
    } finally {
      await held.close();
    }
  });

  it("a start with MONGODB_URL on a full folder that was never moved says what to do", async () => {
    const from = path.join(folder, "from");
    await withService(ofFolder(from), async (app) => void (await app.workspace()));
    await assert.rejects(
      withService({ ...places, DATA_DIR: from }, async () => undefined),
      /DATA_DIR .* holds workspaces, which are not in MongoDB.*npm run move -- --from .* --to-env/,
    );
  });
});
