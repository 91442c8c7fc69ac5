import { findInstance } from "./instance.js";
import { startServer, stateOf } from "./lifecycle.js";
import { kill, signal, type Recorded } from "./process.js";
import type { ServerName } from "./server.js";

/** One server of an instance, for those who want to see what its loss does. Each throws when the server was never up. */
export interface ServerControl {
  readonly name: ServerName;
  /** SIGKILL; resolves when the process is gone, also when it was. */
  kill(): Promise<void>;
  /** On the same port and data; resolves when it answers. */
  start(): Promise<void>;
  /** SIGSTOP: the port takes connections and nothing answers. */
  pause(): void;
  resume(): void;
}

/** Throws when the instance was never up. */
export async function controlServers(instanceName: string): Promise<Readonly<Record<ServerName, ServerControl>>> {
  const instance = findInstance(instanceName);
  if (instance === null) throw notUp(instanceName, instanceName);
  const control = (name: ServerName): ServerControl => {
    const recorded = (): Recorded => {
      const state = stateOf(instance, name);
      if (state.kind === "absent") throw notUp(name, instanceName);
      return state.record;
    };
    return {
      name,
      kill: async () => kill(recorded()),
      start: async () => void (await startServer(instance, name, () => undefined)),
      pause: () => void signal(recorded(), "SIGSTOP"),
      resume: () => void signal(recorded(), "SIGCONT"),
    };
  };
  return {
    rabbitmq: control("rabbitmq"),
    mongodb: control("mongodb"),
    neo4j: control("neo4j"),
    "neo4j-second": control("neo4j-second"),
  };
}

const notUp = (what: string, instanceName: string): Error =>
  new Error(`${what} is not up: npm run servers -- up --name ${instanceName}`);
