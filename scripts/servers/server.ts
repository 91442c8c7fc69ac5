import type { Instance } from "./instance.js";
import type { Progress } from "./install.js";
import type { Command } from "./process.js";

export const SERVER_NAMES = ["rabbitmq", "mongodb", "neo4j", "neo4j-second"] as const;
/** What `up` starts when nothing is named. */
export const USUAL: readonly ServerName[] = ["rabbitmq", "mongodb", "neo4j"];
export type ServerName = (typeof SERVER_NAMES)[number];

/** One kind of server, without the state of any instance. */
export interface ServerKind {
  readonly name: ServerName;
  /** What runs, with its version where it is known without asking. */
  readonly title: () => string;
  readonly port: (instance: Instance) => number;
  /** Runs beside the server: started before it, stopped after it. */
  readonly companion?: string;
  /** Its data and configuration, in the folder of the instance. */
  readonly folders: readonly string[];
  /** Long: a start that takes 8 s on an idle machine has been seen to take 90 s on a busy one. */
  readonly answerDeadlineMs: number;
  /** Time for an orderly stop; killed after that. */
  readonly stopDeadlineMs: number;
  /** Installs what is missing, writes the configuration, and tells how to start it. */
  readonly prepare: (instance: Instance, progress: Progress) => Promise<Prepared>;
  /** Logs in and asks for something; throws while that fails. */
  readonly ask: (instance: Instance) => Promise<void>;
  /** After a start by hand: what a server does slowly at first is done before anybody waits for it. */
  readonly warm?: (instance: Instance) => Promise<void>;
  /** What the service needs to know. */
  readonly settings: (instance: Instance) => Readonly<Record<string, string>>;
  /** Its log, when that is not its output. */
  readonly ownLog?: (instance: Instance) => string;
}

export interface Prepared {
  readonly companion?: Command;
  readonly command: Command;
}
