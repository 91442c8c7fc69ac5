import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { settings, status } from "../../scripts/servers/commands.js";
import { controlServers } from "../../scripts/servers/control.js";
import { exclusively } from "../../scripts/servers/exclusive.js";
import { installed, run } from "../../scripts/servers/install.js";
import { createInstance, findInstance, newPassword } from "../../scripts/servers/instance.js";
import { KINDS } from "../../scripts/servers/lifecycle.js";
import { readOptions } from "../../scripts/servers/options.js";
import { cacheFolder, SOURCE } from "../../scripts/servers/paths.js";
import { beganOf, gone, isAlive, kill, readRecord, signal, startDetached } from "../../scripts/servers/process.js";
import { passwordHash } from "../../scripts/servers/rabbitmq.js";
import { SERVER_NAMES } from "../../scripts/servers/server.js";

const DEADLINE_MS = 10_000;

describe("the servers' script", () => {
  let folder = "";
  const before = process.env["ONYM_CACHE_DIR"];
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "onym-servers-"));
    process.env["ONYM_CACHE_DIR"] = folder;
  });
  afterEach(() => {
    if (before === undefined) delete process.env["ONYM_CACHE_DIR"];
    else process.env["ONYM_CACHE_DIR"] = before;
    rmSync(folder, { recursive: true, force: true });
  });

  describe("its command line", () => {
    it("reads the command, the instance and the servers", () => {
      assert.deepEqual(readOptions(["up", "--name", "ci", "--only", "neo4j,rabbitmq", "--only", "neo4j"]), {
        action: "up",
        name: "ci",
        only: ["rabbitmq", "neo4j"],
        isPurged: false,
        command: [],
      });
    });

    it("takes all servers that there are unless some are named, and leaves what follows -- alone", () => {
      const options = readOptions(["with", "--", "node", "--only", "x"]);
      assert.deepEqual(options?.only, SERVER_NAMES);
      assert.deepEqual(options?.command, ["node", "--only", "x"]);
      assert.deepEqual(
        readOptions(["up"])?.only,
        ["rabbitmq", "mongodb", "neo4j"],
        "the second graph only by its name",
      );
    });

    it("shows the help without a command", () => {
      assert.equal(readOptions([]), null);
      assert.equal(readOptions(["up", "--help"]), null);
    });

    for (const wrong of [["upp"], ["up", "down"], ["up", "--only", "redis"], ["up", "--nam", "x"], ["with"]])
      it(`refuses ${wrong.join(" ")}`, () => assert.throws(() => readOptions(wrong)));
  });

  describe("an instance", () => {
    it("keeps its ports and passwords, in a file for its owner alone", async () => {
      const made = await createInstance("one");
      assert.deepEqual(findInstance("one"), made);
      assert.equal(statSync(path.join(made.folder, "instance.json")).mode & 0o777, 0o600);
    });

    it("shares no port and no password with another", async () => {
      const made = [await createInstance("one"), await createInstance("two")];
      const values = made.flatMap(({ ports, passwords }) => [...Object.values(ports), ...Object.values(passwords)]);
      assert.equal(new Set(values).size, values.length);
    });

    it("takes no port of another one, also while that one is down", async () => {
      const { folder, ...made } = await createInstance("one");
      const ports = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`p${n}`, 15_000 + n]));
      writeFileSync(path.join(folder, "instance.json"), JSON.stringify({ ...made, ports }));
      await assert.rejects(createInstance("two"), /no free ports/);
    });

    it("has passwords that no command line takes for an option", () => {
      const passwords = Array.from({ length: 1_000 }, newPassword);
      assert.deepEqual(
        passwords.filter((password) => !/^[0-9a-z]{32,}$/.test(password)),
        [],
      );
    });

    it("has ports that no outgoing connection is given, and that are free", async () => {
      for (const port of Object.values((await createInstance("one")).ports)) {
        assert.ok(port < 32_768, String(port));
        const server = createServer().listen(port, "127.0.0.1");
        await new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject));
        assert.equal((server.address() as AddressInfo).port, port);
        await new Promise((resolve) => server.close(resolve));
      }
    });

    it("is null before it is made, and an error that names the file when that is damaged", async () => {
      assert.equal(findInstance("one"), null);
      const { folder } = await createInstance("one");
      writeFileSync(path.join(folder, "instance.json"), "{");
      assert.throws(() => findInstance("one"), /instance\.json/);
    });

    for (const name of ["", "../up", "A", "-a", "a".repeat(33)])
      it(`is not called ${JSON.stringify(name)}`, () => assert.throws(() => findInstance(name), /--name/));

    it("gives the service its settings, each server its own", async () => {
      const instance = await createInstance("one");
      const { rabbitmq, neo4j } = instance.passwords;
      assert.deepEqual(Object.assign({}, ...SERVER_NAMES.map((name) => KINDS[name].settings(instance))), {
        RABBITMQ_URL: `amqp://onym:${rabbitmq}@127.0.0.1:${instance.ports.rabbitmq}`,
        MONGODB_URL: `mongodb://127.0.0.1:${instance.ports.mongodb}/onym`,
        NEO4J_URL: `bolt://127.0.0.1:${instance.ports.neo4jBolt}`,
        NEO4J_USER: "neo4j",
        NEO4J_PASSWORD: neo4j,
        NEO4J_BROWSER_URL: `http://127.0.0.1:${instance.ports.neo4jHttp}/browser/`,
        NEO4J_SECOND_URL: `bolt://127.0.0.1:${instance.ports.neo4jBolt + 1}`,
      });
    });

    it("that is not up says so, wherever it is asked for", async () => {
      assert.throws(() => settings("one", SERVER_NAMES), /up --name one/);
      await assert.rejects(controlServers("one"), /up --name one/);
      assert.deepEqual(status("one", ["neo4j"]), ["neo4j absent"]);
      await createInstance("one");
      assert.throws(() => settings("one", ["mongodb"]), /mongodb not up/);
      await assert.rejects((await controlServers("one")).mongodb.kill(), /mongodb is not up/);
    });

    it("with a server that died is not up, and its record does not hide that", async () => {
      const { folder } = await createInstance("one");
      writeFileSync(path.join(folder, "neo4j.pid"), JSON.stringify({ pid: process.pid, began: "another time" }));
      assert.match(status("one", ["neo4j"])[0]!, /^neo4j dead/);
      assert.throws(() => settings("one", SERVER_NAMES), /neo4j not up/);
    });
  });

  describe("a process", () => {
    const sleeper = (): ReturnType<typeof startDetached> =>
      startDetached(
        { file: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], env: {}, folder },
        path.join(folder, "output.log"),
        path.join(folder, "one.pid"),
      );

    it("is found again by its record, and killed", async () => {
      const started = sleeper();
      assert.deepEqual(readRecord(path.join(folder, "one.pid")), started);
      assert.ok(isAlive(started));
      assert.equal(await gone(started, 0), false);
      await kill(started);
      assert.equal(isAlive(started), false);
      await kill(started);
    });

    it("is killed while it is paused", async () => {
      const started = sleeper();
      signal(started, "SIGSTOP");
      await kill(started);
      assert.ok(await gone(started, DEADLINE_MS));
    });

    it("that only has the number of ours gets no signal", async () => {
      const other = { pid: process.pid, began: "another time" };
      assert.notEqual(beganOf(process.pid), null);
      assert.equal(isAlive(other), false);
      // This test would end here.
      assert.equal(signal(other, "SIGKILL"), false);
      await kill(other);
    });

    it("has no record when the record is torn", () => {
      writeFileSync(path.join(folder, "one.pid"), '{"pid": 1');
      assert.equal(readRecord(path.join(folder, "one.pid")), null);
    });

    it("that cannot start is an error", () => {
      const command = { file: path.join(folder, "absent"), args: [], env: {}, folder };
      assert.throws(() => startDetached(command, path.join(folder, "o"), path.join(folder, "p")), /cannot start/);
    });

    it("that fails in an install shows what it printed", async () => {
      await assert.rejects(
        run(process.execPath, ["-e", "console.error('why'); process.exit(3)"]),
        /ended with 3:\nwhy/,
      );
    });
  });

  describe("an install", () => {
    const build = async (into: string): Promise<void> => writeFileSync(path.join(into, "made"), "");

    it("is made once, also when several want it at the same time", async () => {
      let builds = 0;
      const made = await Promise.all(
        [1, 2, 3].map(() =>
          installed(
            "thing",
            ["neo4j/pom.xml"],
            () => undefined,
            async (into) => {
              builds += 1;
              await build(into);
            },
          ),
        ),
      );
      assert.equal(builds, 1);
      assert.equal(new Set(made).size, 1);
      assert.deepEqual(readdirSync(made[0]!), ["made"]);
    });

    it("that was cut short is made again, and leaves nothing of the torn one", async () => {
      const torn = installed(
        "thing",
        ["neo4j/pom.xml"],
        () => undefined,
        async (into) => {
          await build(into);
          throw new Error("cut");
        },
      );
      await assert.rejects(torn, /cut/);
      const made = await installed("thing", ["neo4j/pom.xml"], () => undefined, build);
      const names = readdirSync(path.dirname(made)).filter((name) => name !== "lock.db");
      assert.deepEqual(names, [path.basename(made)]);
    });

    it("stands apart from one of other files", async () => {
      const made = await Promise.all(
        [["neo4j/pom.xml"], ["mongo/pom.xml"]].map((files) => installed("thing", files, () => undefined, build)),
      );
      assert.notEqual(made[0], made[1]);
    });
  });

  describe("a lock", () => {
    it("lets one work at a time, also after one that failed", async () => {
      const file = path.join(folder, "lock.db");
      let inside = 0;
      const work = async (fails: boolean): Promise<void> => {
        assert.equal(++inside, 1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        inside -= 1;
        if (fails) throw new Error("failed");
      };
      const all = [true, false, true, false].map((fails) => exclusively(file, DEADLINE_MS, () => work(fails)));
      const results = await Promise.allSettled(all);
      assert.deepEqual(results.map(({ status }) => status).toSorted(), [
        "fulfilled",
        "fulfilled",
        "rejected",
        "rejected",
      ]);
    });

    it("is not waited for longer than the deadline", async () => {
      const file = path.join(folder, "lock.db");
      await exclusively(file, 0, async () => {
        await assert.rejects(
          exclusively(file, 50, async () => undefined),
          /another command/,
        );
      });
    });
  });

  it("hashes RabbitMQ's password as its manual says", () => {
    const salt = Buffer.from("908dc60a", "hex");
    const hash = Buffer.from(passwordHash("test12", salt), "base64");
    assert.equal(hash.subarray(0, 4).toString("hex"), "908dc60a");
    assert.equal(
      hash.subarray(4).toString("hex"),
      createHash("sha256").update("\x90\x8d\xc6\x0atest12", "latin1").digest("hex"),
    );
    assert.notEqual(passwordHash("test12"), passwordHash("test12"));
  });

  it("keeps its cache where the user says", () => {
    assert.equal(cacheFolder({ ONYM_CACHE_DIR: "/a", XDG_CACHE_HOME: "/b" }), "/a");
    assert.equal(cacheFolder({ ONYM_CACHE_DIR: "", XDG_CACHE_HOME: "/b" }), "/b/onym");
    assert.match(cacheFolder({}), /\.cache\/onym$/);
  });

  it("names no registry in what it builds from", () => {
    for (const file of ["neo4j/pom.xml", "mongo/pom.xml"])
      assert.doesNotMatch(readFileSync(path.join(SOURCE, file), "utf8"), /<(repository|mirror|url)>/);
  });
});
