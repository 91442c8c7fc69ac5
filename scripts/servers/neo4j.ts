import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import neo4jDriver from "neo4j-driver";
import { copyJars, installed, JAVA_PACKAGES, requireProgram, run, type Progress } from "./install.js";
import type { Instance } from "./instance.js";
import type { Prepared, ServerKind } from "./server.js";

const USER = "neo4j";
const ASK_DEADLINE_MS = 5_000;

export const neo4j: ServerKind = {
  name: "neo4j",
  title: () => "Neo4j Community 5.26.30",
  port: ({ ports }) => ports.neo4jBolt,
  folders: ["neo4j"],
  answerDeadlineMs: 240_000,
  stopDeadlineMs: 30_000,
  prepare,
  ask,
  settings: (instance) => ({
    NEO4J_URL: urlOf(instance),
    NEO4J_USER: USER,
    NEO4J_PASSWORD: instance.passwords.neo4j,
    NEO4J_BROWSER_URL: `http://127.0.0.1:${instance.ports.neo4jHttp}/browser/`,
  }),
  ownLog: ({ folder }) => path.join(folder, "neo4j", "logs", "neo4j.log"),
};

const urlOf = ({ ports }: Instance): string => `bolt://127.0.0.1:${ports.neo4jBolt}`;

async function prepare(instance: Instance, progress: Progress): Promise<Prepared> {
  const java = requireProgram("java", JAVA_PACKAGES);
  const jars = await installed("neo4j", ["neo4j/pom.xml"], progress, (folder) => copyJars("neo4j/pom.xml", folder));
  const home = path.join(instance.folder, "neo4j");
  const conf = path.join(home, "conf");
  mkdirSync(conf, { recursive: true });
  writeFileSync(path.join(conf, "neo4j.conf"), configuration(instance));
  const classPath = ["-cp", path.join(jars, "*")];
  if (!existsSync(path.join(home, "data", "dbms", "auth.ini")))
    await run(java, [...classPath, ...SET_PASSWORD, instance.passwords.neo4j], { NEO4J_HOME: home, NEO4J_CONF: conf });
  const main = ["org.neo4j.server.CommunityEntryPoint", `--home-dir=${home}`, `--config-dir=${conf}`];
  return { command: { file: java, args: [...JVM, ...classPath, ...main], env: {}, folder: home } };
}

const SET_PASSWORD = ["org.neo4j.cli.AdminTool", "dbms", "set-initial-password"];

/** The flags of Neo4j's own packaging, with a heap for a laptop. */
const JVM: readonly string[] = [
  "-Xms512m",
  "-Xmx1g",
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

const configuration = ({ ports }: Instance): string => `server.config.strict_validation.enabled=true
server.default_listen_address=127.0.0.1
server.default_advertised_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:${ports.neo4jBolt}
server.bolt.advertised_address=127.0.0.1:${ports.neo4jBolt}
server.http.listen_address=127.0.0.1:${ports.neo4jHttp}
server.http.advertised_address=127.0.0.1:${ports.neo4jHttp}
server.https.enabled=false
dbms.usage_report.enabled=false
client.allow_telemetry=false
db.lock.acquisition.timeout=2s
dbms.cypher.min_replan_interval=1h
db.checkpoint.interval.time=1m
server.memory.pagecache.size=1g
db.tx_log.rotation.size=32m
db.tx_log.rotation.retention_policy=keep_none
internal.server.bolt.thread_pool_shutdown_wait_time=1s
internal.server.bolt.connection_shutdown_wait_time=1s
`;

async function ask(instance: Instance): Promise<void> {
  const driver = neo4jDriver.driver(urlOf(instance), neo4jDriver.auth.basic(USER, instance.passwords.neo4j), {
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
