import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseEnv } from "node:util";
import { runInNewContext } from "node:vm";
import { readConfig, SETTINGS } from "../../core/config.js";
import { fillIn, writeEnvironment } from "../../scripts/make-env/environment.js";
import {
  bytesOf,
  composeFile,
  durationMs,
  exampleEnvironment,
  REFERENCE,
  ROOT,
  substitute,
  textOf,
  type ComposeService,
} from "../support/house/compose-file.js";

const FILES = ["docker-compose.yml", "docker-compose.browser.yml"] as const;
const compose = composeFile("docker-compose.yml");
const browser = composeFile("docker-compose.browser.yml");
const services = Object.entries(compose.services);
const OURS = ["gateway", "worker"] as const;
const SERVERS = ["rabbitmq", "mongodb", "neo4j"] as const;
const service = (name: string): ComposeService => compose.services[name]!;
const environment = (name: string): Readonly<Record<string, string>> => service(name).environment ?? {};

/** Each must hold for every service: taking one line out of the file turns its sentence red. */
const OF_EVERY_SERVICE: Readonly<Record<string, (service: ComposeService, name: string) => void>> = {
  "runs as a fixed user that is not root": ({ user }) => assert.match(user ?? "", /^[1-9]\d*:[1-9]\d*$/),
  "has a read-only file system": ({ read_only }) => assert.equal(read_only, true),
  "drops every capability and takes none back": ({ cap_drop, cap_add }) => {
    assert.deepEqual(cap_drop, ["ALL"]);
    assert.equal(cap_add, undefined);
  },
  "gains no privileges": ({ security_opt, privileged }) => {
    assert.deepEqual(security_opt, ["no-new-privileges:true"]);
    assert.equal(privileged, undefined);
  },
  "keeps to its own namespaces": (one) => {
    assert.deepEqual([one.network_mode, one.pid, one.ipc], [undefined, undefined, undefined]);
  },
  "bounds memory, processors and processes": ({ mem_limit, cpus, pids_limit }) => {
    assert.ok(bytesOf(mem_limit ?? "") >= 2 ** 29);
    assert.ok(typeof cpus === "number" && cpus > 0 && cpus <= 2);
    assert.ok(typeof pids_limit === "number" && pids_limit > 0 && pids_limit <= 1_024);
  },
  "bounds its log": ({ logging }) => {
    assert.equal(logging?.driver, "json-file");
    assert.match(logging.options["max-size"] ?? "", /^\d+m$/);
    assert.match(logging.options["max-file"] ?? "", /^\d+$/);
  },
  "bounds what it may write to memory, and gives it to its user alone": ({ tmpfs, user }) => {
    assert.ok((tmpfs ?? []).some((mount) => mount.startsWith("/tmp:")));
    for (const mount of tmpfs ?? [])
      assert.match(
        mount,
        new RegExp(`:size=\\d+m,uid=${user!.split(":")[0]},gid=.*mode=07[05][05],(no)?exec,nosuid,nodev$`),
      );
  },
  "has a health check, which is cheap where it is a server's": ({ healthcheck, build }) => {
    assert.equal(healthcheck?.test[0], "CMD");
    if (build === undefined) assert.deepEqual(healthcheck.test.slice(1, 3), ["bash", "-c"]);
    assert.ok(durationMs(healthcheck.interval) > 0 && durationMs(healthcheck.timeout) > 0);
  },
  "comes back after a crash and a reboot": ({ restart }) => assert.equal(restart, "unless-stopped"),
  "has more time to stop than the drain takes": ({ stop_grace_period }) => {
    assert.ok(durationMs(stop_grace_period ?? "") > readConfig({}).DRAIN_MS + 5_000);
  },
  "has an image with an exact version": ({ image, build }) => {
    const { version } = JSON.parse(textOf("package.json")) as { readonly version: string };
    if (build !== undefined) assert.equal(image, `onym:${version}`);
    else assert.match(image, /^[a-z0-9]+:\d+\.\d+\.\d+(-[a-z]+)?@sha256:[0-9a-f]{64}$/);
  },
  "has no name of its own, which would forbid a second one": ({ container_name }) =>
    assert.equal(container_name, undefined),
  "mounts named volumes, and files of this repository read-only": ({ volumes }) => {
    for (const volume of volumes ?? []) {
      const [source = "", , mode] = volume.split(":");
      if (source.startsWith("./")) {
        assert.equal(mode, "ro", volume);
        assert.ok(statSync(path.join(ROOT, source)).isFile());
      } else assert.ok(source in (compose.volumes ?? {}), volume);
    }
  },
  "is on the network that leads nowhere": ({ networks }) => assert.ok(networks?.includes("backend")),
};

describe("docker-compose.yml: every service", () => {
  it("is one of gateway, worker and the three servers", () =>
    assert.deepEqual(Object.keys(compose.services).toSorted(), [...OURS, ...SERVERS].toSorted()));

  for (const [sentence, rule] of Object.entries(OF_EVERY_SERVICE))
    it(sentence, () => {
      for (const [name, one] of services) {
        try {
          rule(one, name);
        } catch (error) {
          throw new Error(`${name}: ${String(error)}`, { cause: error });
        }
      }
    });
});

describe("docker-compose.yml: the way in", () => {
  it("publishes the gateway alone, and on this machine alone", () => {
    assert.deepEqual(
      services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name),
      ["gateway"],
    );
    assert.deepEqual(service("gateway").ports, ["127.0.0.1:${GATEWAY_PORTS:-8080}:8080"]);
    assert.equal(environment("gateway")["PORT"], "8080");
  });

  it("runs as many of each as .env says, whatever the command is", () =>
    assert.deepEqual([service("gateway").scale, service("worker").scale], ["${GATEWAYS:-1}", "${WORKERS:-1}"]));

  it("lets nothing but the gateway and the worker, which sends webhooks, onto a network with a way out", () => {
    assert.equal(compose.networks["backend"]?.internal, true);
    for (const [name, { networks }] of services)
      assert.deepEqual(networks, ["gateway", "worker"].includes(name) ? ["backend", "edge"] : ["backend"], name);
  });

  it("opens the operators' pages by the second file alone, and on this machine alone", () => {
    assert.deepEqual(Object.keys(browser.services).toSorted(), ["neo4j", "rabbitmq"]);
    for (const [name, one] of Object.entries(browser.services)) {
      assert.deepEqual(Object.keys(one).toSorted(), ["networks", "ports"], name);
      for (const port of one.ports ?? []) assert.match(port, /^127\.0\.0\.1:(\d+):\1$/);
    }
  });
});

describe("docker-compose.yml: passwords", () => {
  const example = exampleEnvironment();
  const secrets = Object.keys(example).filter((name) => /PASSWORD|KEY|SECRET|TOKEN/.test(name));
  const references = FILES.flatMap((file) => [...textOf(file).matchAll(REFERENCE)]);

  it("asks for nothing that .env.example does not explain, and .env.example for nothing else", () => {
    const asked = new Set(references.map(([, name]) => name!));
    assert.deepEqual([...asked].toSorted(), Object.keys(example).toSorted());
    for (const [text] of textOf("docker-compose.yml").matchAll(/\$[^$\s]{0,20}/g)) assert.match(text, /^\$\{/);
  });

  it("stops when a secret is missing, and says what to do", () => {
    assert.equal(secrets.length, 6);
    for (const [text, name, kind, words] of references)
      if (secrets.includes(name!)) assert.deepEqual([kind, words], ["?", "run npm run make-env first"], text);
    for (const name of secrets) assert.equal(example[name], "", `${name} is empty in .env.example`);
  });

  it("holds none itself", () => {
    for (const [name, one] of services) {
      for (const [variable, value] of Object.entries(one.environment ?? {})) {
        if (/PASS|SECRET|TOKEN|AUTH|_KEY/.test(variable))
          assert.match(value, /^(neo4j\/)?\$\{[A-Z0-9_]+:\?[^}]+\}$/, variable);
        const [, password] = /\/\/[^/@:]+:([^@]+)@/.exec(value) ?? [];
        if (password !== undefined) assert.match(password, /^\$\{[A-Z0-9_]+:\?[^}]+\}$/, variable);
      }
      assert.doesNotMatch((one.command ?? []).join(" "), /pass|secret/i, name);
    }
  });

  it("keeps .env out of the repository", () => assert.match(textOf(".gitignore"), /^\.env$/m));

  it("knows no guest at RabbitMQ, no open MongoDB, no open Neo4j, and no root for the service", () => {
    assert.equal(environment("rabbitmq")["RABBITMQ_DEFAULT_USER"], "onym");
    assert.match(textOf("deploy/rabbitmq.conf"), /^loopback_users\.guest = true$/m);
    assert.ok(service("mongodb").command?.includes("--auth"));
    assert.match(environment("mongodb")["MONGO_INITDB_ROOT_PASSWORD"] ?? "", /MONGODB_ROOT_PASSWORD/);
    assert.match(environment("neo4j")["NEO4J_AUTH"] ?? "", /^neo4j\//);
    for (const name of OURS) assert.doesNotMatch(JSON.stringify(environment(name)), /ROOT_PASSWORD/);
    assert.equal(environment("worker")["OPERATOR_KEY"], undefined);
  });
});

describe("docker-compose.yml: how the parts fit", () => {
  it("starts the service when all three servers answer", () => {
    for (const name of OURS)
      assert.deepEqual(
        service(name).depends_on,
        Object.fromEntries(SERVERS.map((server) => [server, { condition: "service_healthy" }])),
      );
  });

  it("asks /readyz whether the service is healthy", () => {
    for (const name of OURS)
      assert.match(service(name).healthcheck!.test.join(" "), /http:\/\/127\.0\.0\.1:8080\/readyz/);
  });

  it("gives the service, and no server, the settings of a file that may be missing", () => {
    for (const [name, one] of services)
      assert.deepEqual(
        one.env_file,
        (OURS as readonly string[]).includes(name) ? [{ path: "settings.env", required: false }] : undefined,
      );
  });

  it("sets nothing that the service does not know", () => {
    for (const name of OURS)
      for (const variable of Object.keys(environment(name)))
        assert.ok(variable in SETTINGS.properties || variable === "NODE_OPTIONS", variable);
  });

  it("leaves each server less memory than its container has", () => {
    const limit = (name: string): number => bytesOf(service(name).mem_limit ?? "");
    const [, rabbitmq = ""] =
      /^vm_memory_high_watermark\.absolute = (\S+)$/m.exec(textOf("deploy/rabbitmq.conf")) ?? [];
    assert.ok(bytesOf(rabbitmq) <= limit("rabbitmq") * 0.6);
    const command = service("mongodb").command ?? [];
    const cacheGb = Number(command[command.indexOf("--wiredTigerCacheSizeGB") + 1]);
    assert.ok(cacheGb * 2 ** 30 <= limit("mongodb") * 0.5);
    const neo4j = ["heap_max__size", "pagecache_size"].map((name) =>
      bytesOf(environment("neo4j")[`NEO4J_server_memory_${name}`] ?? ""),
    );
    assert.ok(neo4j[0]! + neo4j[1]! <= limit("neo4j") * 0.7);
    for (const name of OURS) {
      const [, heap = ""] = /^--max-old-space-size=(\d+)$/.exec(environment(name)["NODE_OPTIONS"] ?? "") ?? [];
      assert.ok(bytesOf(`${heap}m`) <= limit(name) * 0.7, name);
    }
  });

  it("makes MongoDB's user with the password of the URL, and for its database alone", () => {
    const made: unknown[] = [];
    const db = { getSiblingDB: (name: string) => ({ createUser: (user: object) => made.push({ name, ...user }) }) };
    runInNewContext(textOf("deploy/mongo-init.js"), { db, process: { env: { MONGODB_PASSWORD: "p" } } });
    const roles = [{ role: "readWrite", db: "onym" }];
    assert.equal(JSON.stringify(made), JSON.stringify([{ name: "onym", user: "onym", pwd: "p", roles }]));
    assert.equal(new URL(environment("worker")["MONGODB_URL"]!.replace(/\$\{[^}]+\}/, "p")).pathname, "/onym");
  });

  it("sets Neo4j up the way that was measured", () => {
    assert.equal(environment("neo4j")["NEO4J_db_lock_acquisition_timeout"], "2s");
    assert.equal(environment("neo4j")["NEO4J_dbms_cypher_min__replan__interval"], "1h");
    assert.equal(environment("neo4j")["NEO4J_dbms_usage__report_enabled"], "false");
  });
});

describe("npm run make-env", () => {
  const filled = parseEnv(fillIn(textOf(".env.example")));
  const example = exampleEnvironment();
  // `""` is a value.
  const fresh = [...textOf(".env.example").matchAll(/^([A-Z][A-Z0-9_]*)=$/gm)].map(([, name]) => name!);

  it("makes each secret anew, long, and safe in a URL", () => {
    assert.equal(fresh.length, 6);
    for (const name of fresh) assert.match(filled[name] ?? "", /^[0-9a-f]{64}$/, name);
    assert.equal(new Set(fresh.map((name) => filled[name])).size, fresh.length);
    assert.notEqual(parseEnv(fillIn(textOf(".env.example")))["OPERATOR_KEY"], filled["OPERATOR_KEY"]);
  });

  it("leaves what has a value as it is", () => {
    for (const [name, value] of Object.entries(example))
      if (!fresh.includes(name)) assert.equal(filled[name], value, name);
  });

  it("makes settings that the gateway and the worker take", () => {
    const { services: parts } = composeFile("", substitute(textOf("docker-compose.yml"), filled));
    for (const mode of OURS) {
      const config = readConfig(parts[mode]!.environment ?? {});
      assert.equal(config.MODE, mode);
      assert.equal(new URL(config.RABBITMQ_URL).password, filled["RABBITMQ_PASSWORD"]);
      assert.equal(new URL(config.RABBITMQ_URL).username, environment("rabbitmq")["RABBITMQ_DEFAULT_USER"]);
      assert.equal(new URL(config.MONGODB_URL).password, filled["MONGODB_PASSWORD"]);
      assert.equal(`${config.NEO4J_USER}/${config.NEO4J_PASSWORD}`, parts["neo4j"]!.environment!["NEO4J_AUTH"]);
      for (const url of [config.RABBITMQ_URL, config.MONGODB_URL, config.NEO4J_URL])
        assert.ok(new URL(url).hostname in compose.services, "the host is a service");
    }
    assert.ok(readConfig(parts["gateway"]!.environment ?? {}).OPERATOR_KEY.length >= 32);
  });

  it("writes a file for its owner alone, and never over one that is there", () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "onym-make-env-"));
    try {
      writeFileSync(path.join(folder, ".env.example"), "OPERATOR_KEY=\n# words\nTRUST_PROXY=0\n");
      const file = writeEnvironment(folder);
      const written = readFileSync(file, "utf8");
      assert.match(written, /^OPERATOR_KEY=[0-9a-f]{64}\n# words\nTRUST_PROXY=0\n$/);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.throws(() => writeEnvironment(folder), { code: "EEXIST" });
      assert.equal(readFileSync(file, "utf8"), written);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
