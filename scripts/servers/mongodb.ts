import { mkdirSync } from "node:fs";
import path from "node:path";
import { MongoClient } from "mongodb";
import { copyJars, installed, JAVA_PACKAGES, requireProgram, run, type Progress } from "./install.js";
import type { Instance } from "./instance.js";
import { SOURCE } from "./paths.js";
import { findProgram } from "./process.js";
import type { Prepared, ServerKind } from "./server.js";

const DATABASE = "onym";
const ASK_DEADLINE_MS = 5_000;
const SOURCES = ["mongo/MongoServerMain.java", "mongo/IndexedDatabase.java", "mongo/OrderedIndex.java"];
const FILES = ["mongo/pom.xml", ...SOURCES];

export const mongodb: ServerKind = {
  name: "mongodb",
  title: () => (findProgram("mongod") === null ? "mongo-java-server 1.47.0" : "mongod"),
  port: ({ ports }) => ports.mongodb,
  folders: ["mongod", "mongo-java-server"],
  answerDeadlineMs: 120_000,
  stopDeadlineMs: 15_000,
  prepare,
  ask,
  settings: (instance) => ({ MONGODB_URL: urlOf(instance) }),
};

const urlOf = ({ ports }: Instance): string => `mongodb://127.0.0.1:${ports.mongodb}/${DATABASE}`;

async function prepare(instance: Instance, progress: Progress): Promise<Prepared> {
  const mongod = findProgram("mongod");
  return mongod === null ? prepareImitation(instance, progress) : prepareMongod(instance, mongod);
}

function prepareMongod({ folder, ports }: Instance, file: string): Prepared {
  const data = path.join(folder, "mongod");
  mkdirSync(data, { recursive: true });
  const args = ["--bind_ip=127.0.0.1", `--port=${ports.mongodb}`, `--dbpath=${data}`, "--wiredTigerCacheSizeGB=0.5"];
  return { command: { file, args, env: {}, folder: data } };
}

async function prepareImitation({ folder, ports }: Instance, progress: Progress): Promise<Prepared> {
  const java = requireProgram("java", JAVA_PACKAGES);
  const jars = await installed("mongo-java-server", FILES, progress, build);
  const data = path.join(folder, "mongo-java-server");
  mkdirSync(data, { recursive: true });
  const classPath = [path.join(jars, "classes"), path.join(jars, "*")].join(path.delimiter);
  const args = ["-Xmx1g", "-cp", classPath, "MongoServerMain", String(ports.mongodb), path.join(data, "data.mv.db")];
  return { command: { file: java, args, env: {}, folder: data } };
}

async function build(folder: string): Promise<void> {
  const javac = requireProgram("javac", JAVA_PACKAGES);
  await copyJars("mongo/pom.xml", folder);
  const sources = SOURCES.map((file) => path.join(SOURCE, file));
  await run(javac, ["-cp", path.join(folder, "*"), "-d", path.join(folder, "classes"), ...sources]);
}

async function ask(instance: Instance): Promise<void> {
  const client = new MongoClient(urlOf(instance), { serverSelectionTimeoutMS: ASK_DEADLINE_MS });
  try {
    await client.db().command({ ping: 1 });
  } finally {
    await client.close();
  }
}
