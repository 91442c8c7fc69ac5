import { Type, type Static, type TObject, type TProperties, type TSchema } from "typebox";
import { PAGE_BYTES_MAX } from "../../commands/read-event.js";
import {
  route,
  textOf,
  type Access,
  type Context,
  type Described,
  type Page,
  type Reply,
  type Route,
} from "../route.js";
import type { Cursors } from "./cursors.js";
import { nullable, record } from "./fields.js";

const LIMIT = 50;
/** The query of every list. */
export const PAGE = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: LIMIT }),
  cursor: Type.Optional(Type.String()),
};
export const NEXT_CURSOR = nullable(Type.String());

interface Asked {
  readonly limit?: number;
  readonly cursor?: string;
  readonly wait?: number;
}

/** In a body. Absent members stay absent there. */
export const PAGE_IN_BODY = { limit: Type.Optional(PAGE.limit), cursor: PAGE.cursor };

/** The page that a query or a body asks for, of a list that the rest of it names. How long the client waits for it says neither. */
export function pageOfRequest(
  cursors: Cursors,
  { workspace, params }: Pick<Context, "workspace" | "params">,
  { path, cursorKeepsLimit }: Pick<Route, "path" | "cursorKeepsLimit">,
  given: unknown,
): Page {
  const { limit = LIMIT, cursor, wait: _, ...filter } = given as Asked;
  const named = [path, params, filter, ...(cursorKeepsLimit === true ? [limit] : [])];
  return cursors.page(workspace, JSON.stringify(named), { limit, cursor });
}

/** The query of every route that answers lines. */
export const AFTER = { after: Type.Optional(Type.String()) };

/** Where the lines that a query asks for begin. */
export const linesOfRequest = (
  cursors: Cursors,
  { workspace }: Pick<Context, "workspace">,
  { path }: Pick<Route, "path">,
  { after }: { readonly after?: string },
): Page => cursors.page(workspace, JSON.stringify([path]), { limit: 0, cursor: after }, "after");

/** Whether a body has `PAGE_IN_BODY`. */
export const isPaged = (body: TSchema | undefined): boolean =>
  (body as Partial<TObject>)?.properties?.["cursor"] !== undefined;

/** `rows` was asked with one more than the limit, which tells whether there is a next page. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  cursor: (last: Row) => string,
): { readonly items: readonly Row[]; readonly next_cursor: string | null } {
  const items = rows.slice(0, limit);
  return { items, next_cursor: rows.length > limit ? cursor(items.at(-1)!) : null };
}

interface ListRow<Item, Params extends TProperties, Query extends TProperties> extends Described {
  readonly path: string;
  readonly access: Access;
  readonly params?: Params;
  /** Query parameters in addition to limit and cursor. */
  readonly query?: Query;
  /** The member of the answer that holds the items. */
  readonly name: string;
  readonly item: TSchema;
  /** What one item takes at most, about; 1 KiB unless the row says otherwise. */
  readonly itemBytes?: number;
  /** At most `limit` items after the position. */
  readonly read: (
    context: Context<Static<TObject<Params>>, Static<TObject<Query>>>,
    page: { readonly limit: number; readonly after: readonly string[] | null },
  ) => Promise<readonly Item[]>;
  readonly position: (item: Item) => readonly string[];
  /** An object, or JSON text. */
  readonly show: (item: Item) => unknown;
}

/** As many as a page has room for, and one at least, so that the next page begins behind it. */
function showFitting<Item>(items: readonly Item[], show: (item: Item) => unknown): readonly string[] {
  const shown: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const text = textOf(show(item));
    bytes += Buffer.byteLength(text);
    if (bytes > PAGE_BYTES_MAX && shown.length > 0) break;
    shown.push(text);
  }
  return shown;
}

/** A route that answers a list page by page. */
export const list = <Item, Params extends TProperties = TProperties, Query extends TProperties = TProperties>({
  name,
  item,
  itemBytes = 1_024,
  query,
  read,
  position,
  show,
  ...row
}: ListRow<Item, Params, Query>): Route =>
  route({
    ...row,
    method: "get",
    query: { ...PAGE, ...query } as unknown as Query,
    responses: { 200: record({ [name]: Type.Array(item), next_cursor: NEXT_CURSOR }) },
    handle: async (context): Promise<Reply> => {
      const { limit, after, cursorOf } = context.page;
      // With the item that does not fit any more.
      await context.takeBytes(Math.min(limit * itemBytes, PAGE_BYTES_MAX + itemBytes));
      const rows = await read(context, { limit: limit + 1, after });
      const shown = showFitting(rows.slice(0, limit), show);
      const { next_cursor } = pageOf(rows, shown.length, (last) => cursorOf(position(last)));
      return { status: 200, json: `{"${name}":[${shown.join(",")}],"next_cursor":${JSON.stringify(next_cursor)}}` };
    },
  });
