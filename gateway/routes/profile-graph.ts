import { Type } from "typebox";
import { outlineProfile, requireProfile } from "../../commands/read-profile.js";
import type { Services } from "../../commands/services.js";
import type { Outline } from "../../core/identity/api.js";
import type { Link, Member } from "../../core/identity/model.js";
import type { Uid } from "../../core/ids.js";
import { createAtOnce, readsAtOnce } from "../access/at-once.js";
import { reply, route, type Context, type Reply, type Route } from "../route.js";
import { answered, EMAIL } from "../shapes/examples.js";
import { IDENTIFIER, idOf, nullable, record, UUID } from "../shapes/fields.js";
import { NEXT_CURSOR, PAGE, wholePage } from "../shapes/page.js";
import { ASSERTED, IDENTIFIER_BYTES, showAsserted, SHOWN_IDENTIFIER } from "../shapes/records.js";

const NODE = { uid: UUID, ...SHOWN_IDENTIFIER.properties, shared: Type.Optional(Type.Literal(true)) };
const GRAPH_LINK = { from: UUID, to: UUID, ...ASSERTED };
const GRAPH = record({
  profile_id: UUID,
  nodes: Type.Array(record(NODE)),
  links: Type.Array(record(GRAPH_LINK)),
  next_cursor: NEXT_CURSOR,
});

/** A graph is told whole up to 500 identifiers and 2,000 links. */
const OUTLINE_BYTES = 1_048_576;
/** Of large profiles one of a workspace is made at a time, and the others hold their bytes until it is done. */
const OUTLINES_AT_ONCE = 4;
const COUNT = Type.Integer({ minimum: 0 });
const OUTLINE = record({
  profile_id: UUID,
  size: record({ identifiers: COUNT, links: COUNT }),
  nodes: Type.Array(record({ ...NODE, links: COUNT })),
  links: Type.Array(record({ ...GRAPH_LINK, bridge: Type.Optional(COUNT) })),
  groups: Type.Array(record({ id: Type.String(), namespace: nullable(Type.String()), count: COUNT })),
  bundles: Type.Array(record({ from: Type.String(), to: Type.String(), count: COUNT })),
  partial: Type.Optional(Type.Literal(true)),
});

export function profileGraphRoutes(services: Services): readonly Route[] {
  const inTurn = createAtOnce(readsAtOnce(OUTLINES_AT_ONCE, "outlines"));
  return [
    route({
      method: "get",
      path: "/v1/profiles/:id/graph",
      operationId: "getProfileGraph",
      tag: "Read",
      summary: "The identifiers of a profile and the links between them",
      example: { params: { id: answered("identify", "/profile_id") } },
      access: { kind: "role", role: "viewer" },
      params: { id: idOf("profile") },
      query: PAGE,
      responses: { 200: GRAPH },
      /**
       * First the nodes in order of age, then the links, together as many as the limit says. A node that is new while the links are being
       * read comes before more links.
       */
      handle: (context) => wholePage(context, IDENTIFIER_BYTES, () => readGraph(services, context)),
    }),
    route({
      method: "post",
      path: "/v1/profiles/:id/outline",
      operationId: "outlineProfile",
      tag: "Read",
      summary: "An overview of the graph of a profile, limited in size",
      description:
        "For a large profile, `nodes` are the ends of bridges, the identifiers with the most links, and `keep`. The others are only counted, by namespace.",
      example: { params: { id: answered("identify", "/profile_id") }, body: { keep: EMAIL } },
      access: { kind: "role", role: "viewer" },
      params: { id: idOf("profile") },
      body: record({ keep: Type.Optional(IDENTIFIER) }),
      bodyIs: "optional",
      isRead: true,
      responses: { 200: OUTLINE },
      handle: async ({ workspace, params, body, takeBytesForLong, isGone }) => {
        const outline = await inTurn({ workspace, isGone }, async () => {
          await takeBytesForLong(OUTLINE_BYTES);
          return outlineProfile(services, workspace, params.id, body?.keep);
        });
        return reply(200, showOutline(outline));
      },
    }),
  ];
}

async function readGraph(
  services: Services,
  { workspace, params, page: { limit, after, cursorOf } }: Context<{ readonly id: string }>,
): Promise<Reply> {
  const { identity } = services;
  const profileId = await requireProfile(services, workspace, params.id);
  const position = positionOf(after);
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
    next_cursor: isAtNodes || found.length > room ? cursorOf(textsOf(next)) : null,
  });
}

const showOutline = ({ profileId, identifiers, links, nodes, groups, single, bundles, isPartial }: Outline) => ({
  profile_id: profileId,
  size: { identifiers, links },
  nodes: nodes.map((node) => ({ ...showNode(node), links: node.links })),
  links: single.map(({ link, bridge }) => ({ ...showGraphLink(link), ...(bridge !== null && { bridge }) })),
  groups,
  bundles,
  ...(isPartial && { partial: true }),
});

/** How far the earlier pages came. */
interface Position {
  readonly node: Uid | null;
  readonly link: Pick<Link, "from" | "to"> | null;
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
