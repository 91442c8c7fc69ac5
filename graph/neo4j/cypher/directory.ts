/** On the node of a workspace: `graph`, the name of the graph that holds it; absent: this one. */
export const FIND_GRAPH = `CYPHER replan=skip
MATCH (w:Workspace {id: $q.ws}) USING INDEX SEEK w:Workspace(id)
RETURN w.graph`;

export const TAKE_GRAPH = `CYPHER replan=skip
MERGE (w:Workspace {id: $q.ws})
ON CREATE SET w.graph = $q.graph
RETURN w.graph`;

export const GRAPHS_IN_USE = `CYPHER replan=skip
MATCH (w:Workspace) WHERE w.graph IS NOT NULL
RETURN DISTINCT w.graph`;
