import { once } from "node:events";
import { createIdentity } from "../../../graph/identity.js";
import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { runClients, type ClientsPlan } from "./history-clients.js";
import { neo4jUnderTest, throwError } from "../servers/neo4j-backend.js";
import { tombOf } from "../builders.js";

/** A process with clients of its own. Argument: their plan. It says when it is ready, works once it is told to, and tells what happened. */
const plan = JSON.parse(process.argv[2]!) as ClientsPlan;
const graph = await openNeo4jGraph({ tombOf, ...neo4jUnderTest(), onError: throwError });
const identity = createIdentity({ graph, timeoutMs: 8_000 });
const isTold = once(process, "message");
process.send!("ready");
await isTold;
const entries = await runClients(identity, plan);
await graph.close();
process.send!(entries, () => process.disconnect());
