/** What can be wrong in the graph of the page's story, and a statement that makes it so. */
export const DAMAGES: readonly (readonly [problem: string, statement: string])[] = [
  ["not in exactly one profile", "MATCH (:Identifier {ws: $workspace, value: 'd-2'})-[o:OF]->() DELETE o"],
  [
    "in a profile that does not fit it",
    "MATCH (:Identifier {ws: $workspace, value: 'd-2'})-[o:OF]->() SET o.hub = 'x'",
  ],
  [
    "linked across profiles",
    "MATCH (a:Identifier {ws: $workspace, value: 'eve'}), (b:Identifier {ws: $workspace, value: 'd-2'}) CREATE (a)-[:LINKED]->(b)",
  ],
  ["in a profile without a link to it", "MATCH (:Identifier {ws: $workspace, value: 'd-2'})-[l:LINKED]-() DELETE l"],
  ["size differs", "MATCH (p:Profile {ws: $workspace, size: 6}) SET p.size = 7"],
  ["its id is of none of its identifiers", "MATCH (p:Profile {ws: $workspace, size: 6}) SET p.id = 'x'"],
];
