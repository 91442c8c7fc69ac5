import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import neo4jDriver from "neo4j-driver";
import { ConfigError } from "../../core/config.js";
import { connect } from "../../graph/neo4j/client.js";
import { openClient, warmRest } from "../../graph/neo4j/open.js";
import { copyJars, installed, JAVA_PACKAGES, requireProgram, run, type Progress } from "./install.js";
import type { Instance } from "./instance.js";
import type { Prepared, ServerKind, ServerName } from "./server.js";

const USER = "neo4j";
const ASK_DEADLINE_MS = 5_000;

interface Kind {
  readonly name: ServerName;
  /** Beside the instance's own ports. */
  readonly portsOn: number;
  readonly memory: { readonly heap: readonly string[]; readonly pages: string };
  readonly settings: (instance: Instance) => Readonly<Record<string, string>>;
}

const kindOf = ({ name, portsOn, memory, settings }: Kind): ServerKind => {
  const boltOf = ({ ports }: Instance): number => ports.neo4jBolt + portsOn;
  return {
    name,
    title: () => "Neo4j Community 5.26.30",
    port: boltOf,
    folders: [name],
    answerDeadlineMs: 240_000,
    stopDeadlineMs: 30_000,
    prepare: (instance, progress) =>
      prepare(instance, progress, { name, memory, ports: [boltOf(instance), instance.ports.neo4jHttp + portsOn] }),
    ask: (instance) => ask(urlOf(boltOf(instance)), instance.passwords.neo4j),
    warm: (instance) => warm({ url: urlOf(boltOf(instance)), user: USER, password: instance.passwords.neo4j }),
    settings,
    ownLog: ({ folder }) => path.join(folder, name, "logs", "neo4j.log"),
  };
};

export const neo4j = kindOf({
  name: "neo4j",
  portsOn: 0,
  memory: { heap: ["-Xms512m", "-Xmx1g"], pages: "1g" },
  settings: ({ ports, passwords }) => ({
    NEO4J_URL: urlOf(ports.neo4jBolt),
    NEO4J_USER: USER,
    NEO4J_PASSWORD: passwords.neo4j,
    NEO4J_BROWSER_URL: `http://127.0.0.1:${ports.neo4jHttp}/browser/`,
  }),
});

/** For `NEO4J_URLS`. Its setting has another name, so that only who asks for several graphs has them. */
export const neo4jSecond = kindOf({
  name: "neo4j-second",
  portsOn: 1,
  memory: { heap: ["-Xms256m", "-Xmx512m"], pages: "256m" },
  settings: ({ ports }) => ({ NEO4J_SECOND_URL: urlOf(ports.neo4jBolt + 1) }),
});

const urlOf = (bolt: number): string => `bolt://127.0.0.1:${bolt}`;

interface Preparing extends Pick<Kind, "name" | "memory"> {
  readonly ports: readonly [bolt: number, http: number];
}

async function prepare(instance: Instance, progress: Progress, { name, memory, ports }: Preparing): Promise<Prepared> {
  const java = requireProgram("java", JAVA_PACKAGES);
  const jars = await installed("neo4j", ["neo4j/pom.xml"], progress, (folder) => copyJars("neo4j/pom.xml", folder));
  const home = path.join(instance.folder, name);
  const conf = path.join(home, "conf");
  mkdirSync(conf, { recursive: true });
  writeFileSync(path.join(conf, "neo4j.conf"), configuration(ports, memory.pages));
  const classPath = ["-cp", path.join(jars, "*")];
  if (!existsSync(path.join(home, "data", "dbms", "auth.ini")))
    await run(java, [...classPath, ...SET_PASSWORD, instance.passwords.neo4j], { NEO4J_HOME: home, NEO4J_CONF: conf });
  const main = ["org.neo4j.server.CommunityEntryPoint", `--home-dir=${home}`, `--config-dir=${conf}`];
  return { command: { file: java, args: [...memory.heap, ...JVM, ...classPath, ...main], env: {}, folder: home } };
}

const SET_PASSWORD = ["org.neo4j.cli.AdminTool", "dbms", "set-initial-password"];

/** The flags of Neo4j's own packaging, with a heap for a laptop. */
const JVM: readonly string[] = [
  "-XX:+UseG1GC",
  "-XX:-OmitStackTraceInFastThrow",
  "-XX:+DisableExplicitGC",
  "-Djdk.nio.maxCachedBufferSize=1024",
  "-Dio.netty.tryReflectionSetAccessible=true",
  "-Dlog4j2.disable.jmx=true",
  "--add-opens=java.base/java.nio=ALL-UNNAMED",
  "--add-opens=java.base/java.io=ALL-UNNAMED",
  "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
  "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
];

const configuration = (
  [bolt, http]: Preparing["ports"],
  pages: string,
): string => `server.config.strict_validation.enabled=true
server.default_listen_address=127.0.0.1
server.default_advertised_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:${bolt}
server.bolt.advertised_address=127.0.0.1:${bolt}
server.http.listen_address=127.0.0.1:${http}
server.http.advertised_address=127.0.0.1:${http}
server.https.enabled=false
dbms.usage_report.enabled=false
client.allow_telemetry=false
db.lock.acquisition.timeout=2s
dbms.cypher.min_replan_interval=1h
db.checkpoint.interval.time=1m
server.memory.pagecache.size=${pages}
db.tx_log.rotation.size=32m
db.tx_log.rotation.retention_policy=keep_none
internal.server.bolt.thread_pool_shutdown_wait_time=1s
internal.server.bolt.connection_shutdown_wait_time=1s
`;

async function ask(url: string, password: string): Promise<void> {
  const driver = neo4jDriver.driver(url, neo4jDriver.auth.basic(USER, password), {
    connectionTimeout: ASK_DEADLINE_MS,
    connectionAcquisitionTimeout: ASK_DEADLINE_MS,
    maxTransactionRetryTime: 0,
  });
  try {
    await driver.executeQuery("RETURN 1", {}, { database: "neo4j" });
  } finally {
    await driver.close();
  }
}

/** A start of the service waits ten seconds; a cold server beside a busy machine takes longer for its indexes alone. */
const WARM_TRIES = 12;

/** Makes the service's indexes and plans its statements. */
async function warm(login: { readonly url: string; readonly user: string; readonly password: string }): Promise<void> {
  const options = { ...login, onError: () => undefined };
  for (let tries = 1; ; tries += 1)
    try {
      await (await openClient(options)).close();
      break;
    } catch (error) {
      if (!(error instanceof ConfigError) || tries === WARM_TRIES) throw error;
    }
  const driver = connect(options);
  await warmRest(driver);
  await driver.close();
}
