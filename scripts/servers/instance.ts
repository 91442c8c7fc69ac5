import { randomBytes, randomInt } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { instanceFolder } from "./paths.js";

const PORT_NAMES = ["rabbitmq", "rabbitmqNodes", "epmd", "mongodb", "neo4jBolt", "neo4jHttp"] as const;
type PortName = (typeof PORT_NAMES)[number];

/** What the servers of one name keep between two starts. */
export interface Instance {
  readonly name: string;
  readonly folder: string;
  readonly ports: Readonly<Record<PortName, number>>;
  readonly passwords: Readonly<Record<"rabbitmq" | "neo4j", string>>;
}

/** Below the range from which systems take the ports of outgoing connections, so that nobody sits on ours while a server is down. */
const PORT_MIN = 15_000;
const PORT_MAX = 30_000;
const PORT_TRIES = 1_000;
const PASSWORD_BYTES = 18;

const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

export function requireName(name: string): string {
  if (!NAME.test(name)) throw new Error("--name: 1 to 32 of a-z, 0-9 and -, the first not a -");
  return name;
}

export function findInstance(name: string): Instance | null {
  const folder = instanceFolder(requireName(name));
  try {
    const kept = JSON.parse(readFileSync(fileOf(folder), "utf8")) as Pick<Instance, "ports" | "passwords">;
    return { name, folder, ...kept };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`${fileOf(folder)} cannot be read; remove the folder to begin anew`, { cause: error });
  }
}

export async function createInstance(name: string): Promise<Instance> {
  const folder = instanceFolder(requireName(name));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const kept = {
    ports: await choosePorts(portsOfOthers(folder)),
    passwords: { rabbitmq: newPassword(), neo4j: newPassword() },
  };
  // Renamed when whole, so that a kill leaves no half of it.
  writeFileSync(`${fileOf(folder)}.new`, JSON.stringify(kept, null, 2), { mode: 0o600 });
  renameSync(`${fileOf(folder)}.new`, fileOf(folder));
  return { name, folder, ...kept };
}

/** Letters and digits alone: a command line would take a leading - for an option. */
export const newPassword = (): string => randomBytes(PASSWORD_BYTES).toString("hex");

const fileOf = (folder: string): string => path.join(folder, "instance.json");

/** Also of those that are down: their ports are free now, and not when they are up again. */
function portsOfOthers(folder: string): ReadonlySet<number> {
  const names = readdirSync(path.dirname(folder)).filter((name) => NAME.test(name) && name !== path.basename(folder));
  return new Set(names.flatMap((name) => Object.values(findInstance(name)?.ports ?? {})));
}

async function choosePorts(taken: ReadonlySet<number>): Promise<Instance["ports"]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < PORT_NAMES.length; tries += 1) {
    if (tries > PORT_TRIES) throw new Error(`no free ports from ${PORT_MIN} to ${PORT_MAX}`);
    const port = randomInt(PORT_MIN, PORT_MAX);
    if (!taken.has(port) && (await isFree(port))) ports.add(port);
  }
  return Object.fromEntries([...ports].map((port, index) => [PORT_NAMES[index]!, port])) as Record<PortName, number>;
}

/** True when nothing listens there. */
export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(true)));
  });
