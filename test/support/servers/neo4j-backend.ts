import neo4j, { type Driver, type Plan } from "neo4j-driver";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { openNeo4jGraph, type Neo4jGraph } from "../../../graph/neo4j/graph.js";
import { openSpreadGraph } from "../../../graph/neo4j/spread/open.js";
import type { Client, Step } from "../../../graph/neo4j/client.js";
import type { Backend } from "../contract.js";
import { serversUnderTest } from "./servers.js";
import { tombOf } from "../builders.js";

export interface Neo4jAccess {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

/** One database serves all sentences, as Community has no other: each works in workspaces of its own. */
export const neo4jBackend = (access: Neo4jAccess): Backend<IdentityGraph> => ({
  name: "Neo4j",
  place: async () => ({
    open: () => openNeo4jGraph({ tombOf, ...access, onError: throwError }),
    drop: async () => undefined,
  }),
});

/** The workspaces of each sentence are spread over two servers. */
export const spreadBackend = (access: Neo4jAccess, second: string): Backend<IdentityGraph> => ({
  name: "Neo4j, two graphs",
  place: async () => ({ open: () => openSpread(access, second), drop: async () => undefined }),
});

/** The directory is on the second one: whoever starts on the first alone must not find one there. */
export const openSpread = ({ url, ...access }: Neo4jAccess, second: string): Promise<Neo4jGraph> =>
  openSpreadGraph({ tombOf, ...access, url: second, others: new Map([["first", url]]), onError: throwError });

/** For a test in which the server is never away. */
export const throwError = (message: string, error: unknown): void => {
  throw new Error(message, { cause: error });
};

export function neo4jUnderTest(): Neo4jAccess {
  const { NEO4J_URL, NEO4J_USER, NEO4J_PASSWORD } = serversUnderTest();
  return { url: NEO4J_URL, user: NEO4J_USER, password: NEO4J_PASSWORD };
}

export type RowsOf = (statement: string, parameters?: object) => Promise<readonly (readonly unknown[])[]>;

/** What really stands there, past the adapter; values in the order of RETURN. */
export function openCypher({ url, user, password }: Neo4jAccess): {
  readonly rows: RowsOf;
  /** The server's plan of a statement, which is not run. */
  readonly explain: (statement: string) => Promise<string>;
  readonly close: () => Promise<void>;
} {
  const driver: Driver = neo4j.driver(url, neo4j.auth.basic(user, password), { disableLosslessIntegers: true });
  return {
    rows: async (statement, parameters = {}) => {
      const { records } = await driver.executeQuery(statement, parameters, { database: "neo4j" });
      return records.map((record) => [...record.values()] as readonly unknown[]);
    },
    explain: async (statement) => {
      const { summary } = await driver.executeQuery(`EXPLAIN ${statement}`, { q: {} }, { database: "neo4j" });
      return JSON.stringify(summary.plan);
    },
    close: () => driver.close(),
  };
}

/** What may be done around each step to the server; by default it is just passed on. */
export interface Faults {
  readonly read?: (go: Client["read"]) => Client["read"];
  readonly write?: (go: Client["write"]) => Client["write"];
  readonly run?: (go: Step["run"]) => Step["run"];
  readonly commit?: (go: Step["commit"]) => Step["commit"];
}

export const withFaults = (client: Client, faults: Faults): Client => ({
  ...client,
  read: faults.read?.(client.read) ?? client.read,
  write: faults.write?.(client.write) ?? client.write,
  begin: async () => {
    const step = await client.begin();
    return {
      ...step,
      run: faults.run?.(step.run) ?? step.run,
      commit: faults.commit?.(step.commit) ?? step.commit,
    };
  },
});

export const lostConnection = (): Error => new neo4j.Neo4jError("lost", "ServiceUnavailable", "", "");
export const deadlock = (): Error =>
  new neo4j.Neo4jError("deadlock", "Neo.TransientError.Transaction.DeadlockDetected", "", "");

export interface PlanStep {
  readonly operator: string;
  readonly details: string;
}

/** The operators of a plan, each before those that feed it. */
export const stepsOf = (plan: Plan): readonly PlanStep[] => [
  { operator: plan.operatorType, details: plan.arguments["Details"] ?? "" },
  ...plan.children.flatMap(stepsOf),
];
