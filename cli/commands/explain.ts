import { read, type Command } from "../command.js";
import { EXIT, usage } from "../fail.js";
import { identifierIn, type Identifier } from "../options.js";
import { GOES_ON, showIdentifier, showLink, type Link } from "../show.js";

interface Explained {
  readonly connected: boolean;
  readonly profile_id: string | null;
  readonly path: readonly Link[] | null;
  readonly partial?: true;
}

export const explain: Command = {
  name: "explain",
  summary: "tells why two identifiers are one person",
  help: `onym explain NAMESPACE:VALUE NAMESPACE:VALUE [options]
Shows the shortest path between the two, with the evidence of each link. Exit code 1 if they are not one person.
`,
  options: {},
  onlyPrints: true,
  run: async ({ positionals, http, print }) => {
    const [from, to, ...more] = positionals.map(identifierIn);
    if (from === undefined || to === undefined || more.length > 0) throw usage("name two identifiers");
    const explained = await read<Explained>(http(), "/v1/identity/explain", { from, to });
    await print(explained, showExplained(explained, from, to));
    return explained.connected ? EXIT.done : EXIT.refused;
  },
};

function showExplained(
  { connected, profile_id: id, path, partial }: Explained,
  from: Identifier,
  to: Identifier,
): string {
  if (!connected) return `${showIdentifier(from)} and ${showIdentifier(to)} are not connected`;
  const links = (path ?? []).map((link) => `  ${showLink(link)}`);
  return [`profile ${id}`, ...links, ...(partial ? [GOES_ON] : [])].join("\n");
}
