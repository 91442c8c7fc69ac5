import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { embeddedGraph } from "../backends.js";

/** An embedded graph for the tests of the suite that calls this. */
export function useEmbeddedGraph(): () => IdentityGraph {
  let drop: () => Promise<void>;
  let opened: IdentityGraph;
  before(async () => {
    const place = await embeddedGraph.place();
    drop = () => place.drop();
    opened = await place.open();
  });
  after(async () => {
    await opened.close();
    await drop();
  });
  return () => opened;
}
