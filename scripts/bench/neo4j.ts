import neo4j from "neo4j-driver";

export interface Neo4jAccess {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

export type Neo4j = ReturnType<typeof openNeo4j>;

/** The driver alone: what the product is measured against. */
export function openNeo4j({ url, user, password }: Neo4jAccess) {
  const settings = { disableLosslessIntegers: true, maxConnectionPoolSize: 256, telemetryDisabled: true };
  const driver = neo4j.driver(url, neo4j.auth.basic(user, password), settings);
  /** One statement in a transaction of its own; `q` is its parameter. Answers its rows. */
  const run = async (
    statement: string,
    q: object = {},
    mode: "READ" | "WRITE" = "WRITE",
  ): Promise<readonly (readonly unknown[])[]> => {
    const session = driver.session({ database: "neo4j", defaultAccessMode: mode });
    const { records } = await session.run(statement, { q });
    await session.close();
    return records.map((record) => [...record.values()] as readonly unknown[]);
  };
  /** Removes all that the service made of these workspaces. */
  const dropWorkspaces = (workspaces: readonly string[]) => run(DROP, { workspaces });
  return { run, dropWorkspaces, close: () => driver.close() };
}

const DROP = `MATCH (n) WHERE n.ws IN $q.workspaces OR (n:Workspace AND n.id IN $q.workspaces)
CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS`;
