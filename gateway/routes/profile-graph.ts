import type { Identity } from "../../core/identity/api.js";
import type { Link, Member } from "../../core/identity/model.js";
import type { Uid } from "../../core/ids.js";
import { readLimit, type Cursors } from "../shapes/cursor.js";
import { showAsserted } from "../shapes/evidence.js";
import { requireProfile } from "./profiles.js";
import { reply, type Context, type Reply, type Route } from "../route.js";

export interface ProfileGraphDeps {
  readonly identity: Pick<Identity, "resolve" | "members" | "links">;
  readonly cursors: Cursors;
}

export const profileGraphRoutes = (deps: ProfileGraphDeps): readonly Route[] => [
  {
    method: "get",
    path: "/v1/profiles/:id/graph",
    access: { kind: "role", role: "viewer" },
    body: "none",
    query: ["limit", "cursor"],
    handle: (context) => graph(deps, context),
  },
];

/** How far the pages before this one came. */
interface Position {
  readonly node: Uid | null;
  readonly link: Pick<Link, "from" | "to"> | null;
}

/**
 * First the nodes in order of age, then the links, as many of both as the limit says. A node that came while the links were being
 * read is told before more of them.
 */
async function graph({ identity, cursors }: ProfileGraphDeps, { workspace, params, query }: Context): Promise<Reply> {
  const profileId = await requireProfile({ identity }, workspace, params["id"]);
  // Bound to the id as asked: the positions are uids and stay good when the profile merges.
  const list = `graph:${params["id"]}`;
  const position = positionOf(cursors.read(workspace, list, query));
  const limit = readLimit(query);
  const members = await identity.members(workspace, profileId, { limit: limit + 1, after: position.node });
  const nodes = members.slice(0, limit);
  const room = limit - nodes.length;
  const isAtNodes = members.length > limit;
  const page = { limit: room + 1, after: position.link };
  const found = isAtNodes ? [] : await identity.links(workspace, profileId, page);
  const links = found.slice(0, room);
  const next = { node: nodes.at(-1)?.uid ?? position.node, link: links.at(-1) ?? position.link };
  return reply(200, {
    profile_id: profileId,
    nodes: nodes.map(showNode),
    links: links.map(showGraphLink),
    next_cursor: isAtNodes || found.length > room ? cursors.write(workspace, list, textsOf(next)) : null,
  });
}

const textsOf = ({ node, link }: Position): readonly string[] => [
  node ?? "",
  ...(link === null ? [] : [link.from, link.to]),
];

function positionOf(texts: readonly string[] | null): Position {
  const [node, from, to] = (texts ?? []) as readonly Uid[];
  return { node: node || null, link: from === undefined || to === undefined ? null : { from, to } };
}

const showNode = ({ uid, identifier, isShared }: Member) => ({
  uid,
  ...identifier,
  ...(isShared && { shared: true }),
});

const showGraphLink = (link: Link) => ({ from: link.from, to: link.to, ...showAsserted(link) });
