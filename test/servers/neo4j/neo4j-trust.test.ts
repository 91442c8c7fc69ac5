import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { openNeo4jGraph } from "../../../graph/neo4j/graph.js";
import { neo4jUnderTest, throwError } from "../../support/servers/neo4j-backend.js";
import { SCALE, SEED } from "../../support/random/random.js";
import { checkPrograms } from "../../support/trust/programs.js";
import { tombOf } from "../../support/builders.js";

const PROGRAMS = 50 * SCALE;

describe(`Identity on Neo4j against a model that computes everything anew (seed ${SEED})`, () => {
  let graph: IdentityGraph | undefined;
  before(async () => {
    graph = await openNeo4jGraph({ tombOf, ...neo4jUnderTest(), onError: throwError });
  });
  after(() => graph?.close());

  it(`gives its answers, profiles, links, forbidden pairs and records for ${PROGRAMS} programs`, async function () {
    this.timeout(60_000 * (1 + SCALE));
    await checkPrograms(graph!, PROGRAMS);
  });
});
