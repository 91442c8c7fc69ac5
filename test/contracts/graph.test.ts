import { graphBackends } from "../support/backends.js";
import { runContract } from "../support/contract.js";
import { identityGraphContracts } from "./graph/identity-graph.contract.js";

for (const [port, contract] of Object.entries(identityGraphContracts)) runContract(port, contract, graphBackends);
