import assert from "node:assert/strict";
import { graphsOf, ConfigError, readConfig, SETTINGS, type Config } from "../../core/config.js";

const problemOf = (environment: Readonly<Record<string, string>>): string => {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "none";
};

const names = Object.keys(SETTINGS.properties) as readonly (keyof Config)[];
const integers = names.filter((name) => SETTINGS.properties[name].type === "integer");

describe("The settings", () => {
  it("have the documented defaults", () => {
    const { PORT, HOST, DATA_DIR, OPERATOR_KEY, TRUST_PROXY } = readConfig({});
    assert.deepEqual(
      { PORT, HOST, DATA_DIR, OPERATOR_KEY, TRUST_PROXY },
      { PORT: 8080, HOST: "127.0.0.1", DATA_DIR: "./data", OPERATOR_KEY: "", TRUST_PROXY: 0 },
    );
  });

  it("have the documented limits as their defaults", () => {
    const config = readConfig({});
    const limits: Partial<Config> = {
      PAYLOAD_BYTES_MAX: 256 * 1_024,
      BODY_BYTES_MAX: 1_048_576,
      DEPTH_MAX: 64,
      HEADER_BYTES_MAX: 16 * 1_024,
      HEADERS_TIMEOUT_MS: 5_000,
      BODY_TIMEOUT_MS: 15_000,
      INLINE_PER_MINUTE: 60,
      AUTH_FAILURES_PER_MINUTE: 20,
      IDENTIFIERS_MAX: 20,
      NAMESPACES_MAX: 100,
      PROFILE_IDENTIFIERS_MAX: 10_000,
      IDENTITY_TIMEOUT_MS: 8_000,
      SCHEMA_COMPILE_MS: 200,
      VALIDATION_MS: 100,
      WORKER_TRIES_MAX: 5,
      DRAIN_MS: 10_000,
    };
    for (const [name, value] of Object.entries(limits)) assert.equal(config[name as keyof Config], value, name);
  });

  it("each say what they are for", () => {
    for (const name of names)
      assert.match((SETTINGS.properties[name] as { description?: string }).description ?? "", /.{10}/, name);
  });

  it("count an empty variable as unset", () => {
    const empty = Object.fromEntries(names.map((name) => [name, ""]));
    assert.deepEqual(readConfig(empty), readConfig({}));
  });

  it("stop the start for a common wrong name of a server's address, and name the right one", () => {
    for (const [wrong, right] of [
      ["MONGO_URL", "MONGODB_URL"],
      ["RABBIT_URL", "RABBITMQ_URL"],
      ["NEO4J_URI", "NEO4J_URL"],
    ] as const) {
      assert.equal(problemOf({ [wrong]: "x://secret" }), `${wrong}: is not a setting; set ${right} instead`);
      assert.equal(problemOf({ [wrong]: "" }), "none");
    }
    const both = { MONGO_URL: "x://secret", MONGODB_URL: "mongodb://127.0.0.1" };
    assert.equal(problemOf(both), "none", "another program's setting may stand beside ours");
    assert.equal(problemOf({ NEO4J_PORT: "tcp://10.0.0.1:7687" }), "none", "Kubernetes sets such names");
  });

  it("ignore variables that are not theirs", () => {
    assert.deepEqual(
      readConfig(Object.fromEntries(["PATH", "constructor", "__proto__"].map((name) => [name, "x"]))),
      readConfig({}),
    );
  });

  it("take each number at both of its bounds, and name the variable one beyond", () => {
    for (const name of integers) {
      const { minimum = 0, maximum = 0 } = SETTINGS.properties[name] as { minimum?: number; maximum?: number };
      // Its neighbour follows, where one bounds the other.
      const around = name === "HEADERS_TIMEOUT_MS" ? { BODY_TIMEOUT_MS: "300000" } : {};
      const low = name === "BODY_TIMEOUT_MS" ? { HEADERS_TIMEOUT_MS: "100" } : {};
      for (const value of [minimum, maximum])
        assert.equal(readConfig({ ...around, ...low, [name]: String(value) })[name], value, name);
      for (const value of [minimum - 1, maximum + 1])
        assert.match(problemOf({ [name]: String(value) }), new RegExp(`^${name}: `), `${name}=${value}`);
    }
  });

  it("name the variable of a value that is not of its kind", () => {
    for (const name of integers)
      for (const value of ["x", "1.5", "1e400", "0x50", "1e3", "NaN", " 80", "8080;", "true"])
        assert.match(problemOf({ [name]: value }), new RegExp(`^${name}: `), `${name}=${value}`);
    assert.match(problemOf({ LOG_LEVEL: "loud" }), /^LOG_LEVEL: .*"loud"/);
  });

  it("never repeat the operator key in a message", () => {
    for (const key of ["short-canary", `canary ${"x".repeat(20)}`, "canary".repeat(100)]) {
      const message = problemOf({ OPERATOR_KEY: key });
      assert.match(message, /^OPERATOR_KEY: /);
      assert.ok(!message.includes("canary"), message);
    }
  });

  it("name the URL of a server that is not one, and never repeat it", () => {
    const wrong = {
      RABBITMQ_URL: "http://user:canary@host",
      MONGODB_URL: "canary",
      NEO4J_URL: "bolt://neo4j:canary@host",
    };
    for (const [name, value] of Object.entries(wrong)) {
      const message = problemOf({ [name]: value });
      assert.match(message, new RegExp(`^${name}: is wrong: .*://`));
      assert.ok(!message.includes("canary"), message);
    }
    // Its end would be taken for a host, and shown.
    assert.match(
      problemOf({ RABBITMQ_URL: "amqp://onym:p@canary/x@127.0.0.1:5672" }),
      /^RABBITMQ_URL: is wrong: [^c]*/,
    );
    assert.match(problemOf({ NEO4J_URL: "bolt://127.0.0.1:7687/other" }), /^NEO4J_URL: is wrong/);
    for (const address of ["https://onym.example:99999", "https://[canary", "http://a%zz"])
      assert.match(problemOf({ PUBLIC_URL: address }), /^PUBLIC_URL: is wrong: [^c]*https:/);
    assert.ok(!problemOf({ NEO4J_PASSWORD: "canary".repeat(1_000) }).includes("canary"));
  });

  it("never repeat an address in a message, because a wrong one may hold a password", () => {
    const addresses = names.filter((name) => /:\/\//.test(JSON.stringify(SETTINGS.properties[name])));
    assert.deepEqual(addresses, ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL", "NEO4J_URLS", "PUBLIC_URL"]);
    for (const name of addresses)
      for (const value of [
        "two=bolt://neo4j:canary@host:7687",
        "https://user:canary@host?",
        `bolt ://${"canary@".repeat(2_000)}`,
      ]) {
        const message = problemOf({ [name]: value });
        assert.match(message, new RegExp(`^${name}: is wrong`), value);
        assert.ok(!message.includes("canary"), message);
      }
  });

  it("take each server alone", () => {
    const urls = {
      RABBITMQ_URL: "amqp://u:p@h:5672/v",
      MONGODB_URL: "mongodb://h:27017/d",
      NEO4J_URL: "bolt://h:7687",
    };
    for (const [name, url] of Object.entries(urls))
      assert.equal(readConfig({ [name]: url })[name as keyof Config], url);
    for (const scheme of ["amqps://h", "mongodb+srv://h/d", "neo4j+s://h:7687"]) {
      const name = scheme.startsWith("amqp")
        ? "RABBITMQ_URL"
        : scheme.startsWith("mongodb")
          ? "MONGODB_URL"
          : "NEO4J_URL";
      assert.equal(readConfig({ [name]: scheme })[name], scheme);
    }
  });

  it("name further graphs, each once, beside a first one", () => {
    const NEO4J_URL = "bolt://a:7687";
    const NEO4J_URLS = "two=bolt://b:7687,three=neo4j+s://c";
    const expected = [
      ["two", "bolt://b:7687"],
      ["three", "neo4j+s://c"],
    ];
    assert.deepEqual(graphsOf(readConfig({ NEO4J_URL, NEO4J_URLS })), expected);
    assert.deepEqual(graphsOf(readConfig({ NEO4J_URL })), []);
    assert.match(problemOf({ NEO4J_URLS }), /^NEO4J_URL: must be set/);
    for (const wrong of ["bolt://b", "Two=bolt://b", "two=http://b", "two=bolt://u:p@b", "two=bolt://b,", "=bolt://b"])
      assert.match(problemOf({ NEO4J_URL, NEO4J_URLS: wrong }), /^NEO4J_URLS: is wrong/, wrong);
    for (const twice of ["two=bolt://a:7687/", "two=bolt://b,two=bolt://c", "two=bolt://b,three=bolt://b"])
      assert.match(problemOf({ NEO4J_URL, NEO4J_URLS: twice }), /^NEO4J_URLS: a name or an address is duplicated/);
  });

  it("refuse payloads that no document of MongoDB and no message of RabbitMQ can hold", () => {
    assert.match(problemOf({ PAYLOAD_BYTES_MAX: "15728641" }), /^PAYLOAD_BYTES_MAX: must be <= 15728640/);
    assert.equal(readConfig({ PAYLOAD_BYTES_MAX: "15728640" }).PAYLOAD_BYTES_MAX, 15_728_640);
  });

  it("refuse a half of the service without all three servers, and name the one that is missing", () => {
    const urls = { RABBITMQ_URL: "amqp://h", MONGODB_URL: "mongodb://h/d", NEO4J_URL: "bolt://h:7687" };
    for (const MODE of ["gateway", "worker"]) {
      assert.equal(readConfig({ MODE, ...urls }).MODE, MODE);
      for (const name of Object.keys(urls))
        assert.match(
          problemOf({ MODE, ...urls, [name]: "" }),
          new RegExp(`^${name}: must be set when MODE is ${MODE}`),
        );
    }
    assert.match(problemOf({ MODE: "half" }), /^MODE: .*"half"/);
  });

  it("name HEADERS_TIMEOUT_MS when it is longer than the time of the whole request", () => {
    assert.match(problemOf({ HEADERS_TIMEOUT_MS: "9000", BODY_TIMEOUT_MS: "8000" }), /^HEADERS_TIMEOUT_MS: /);
    assert.match(problemOf({ BODY_TIMEOUT_MS: "200" }), /^HEADERS_TIMEOUT_MS: |^BODY_TIMEOUT_MS: /);
  });
});
