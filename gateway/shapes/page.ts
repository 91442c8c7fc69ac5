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

interface ReadPage {
  readonly limit: number;
  readonly after: readonly string[] | null;
}

/** What is listed, and how. */
interface Listed<Item> {
  readonly list: string;
  readonly itemBytes: number;
  /** At most `limit` items after the position. */
  readonly read: (page: ReadPage) => Promise<readonly Item[]>;
  readonly position: (item: Item) => readonly string[];
  /** An object, or JSON text. */
  readonly show: (item: Item) => unknown;
}

interface ListRow<Item, Params extends TProperties, Query extends TProperties>
  extends Described, Pick<Listed<Item>, "position" | "show"> {
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
  readonly read: (
    context: Context<Static<TObject<Params>>, Static<TObject<Query>>>,
    page: ReadPage,
  ) => Promise<readonly Item[]>;
}

/** Taken before the first read: most pages have no more. */
const FIRST_BYTES = 65_536;
/** How many portions are read at once while what came before them is small, and few pages are being made: these may be large. */
const SMALL_PORTIONS = 4;

type Taking = Pick<Context, "page" | "takeBytes" | "takeTurn" | "giveBack">;

/**
 * As many items as a page has room for, and one at least, so that the next page begins behind it. A portion is as many as fill a page where
 * each is as large as it may be. What they have is taken once they are there, and not what they might have: that would let a workspace
 * read one page at a time. Where there is no room for more, the page ends; the first item is read again once there is room for it.
 */
async function readPage<Item>(
  context: Taking,
  listed: Listed<Item>,
  firstBytes = Math.min(context.page.limit * listed.itemBytes, FIRST_BYTES),
): Promise<{ readonly shown: readonly string[]; readonly next: readonly string[] | null }> {
  const { takeBytes, takeTurn, giveBack, page } = context;
  const { list, itemBytes, read, position, show } = listed;
  const shown: string[] = [];
  let [bytes, taken, after] = [0, firstBytes, page.after];
  const hasRoom = async (): Promise<boolean> => {
    if (shown.length > 0 && bytes > PAGE_BYTES_MAX) return false;
    if (bytes <= taken) return true;
    const room = takeBytes(bytes - taken);
    taken = bytes;
    return isGiven(room);
  };
  await takeBytes(taken);
  const portion = Math.ceil(PAGE_BYTES_MAX / itemBytes);
  // What the portion before had says what the next one may have.
  for (let due: number | null = null; ;) {
    const isSmall = shown.length > 0 && bytes <= FIRST_BYTES;
    const items = Math.min(portion, page.limit);
    const { parts, had } = await takeTurn({
      bytes: due ?? items * itemBytes,
      ...(due === null && { of: { list, items } }),
      most: isSmall ? SMALL_PORTIONS : 1,
    });
    const begunAt = bytes;
    const wanted = Math.min(parts * portion, page.limit - shown.length);
    const rows = await read({ limit: wanted + 1, after });
    for (const row of rows.slice(0, wanted)) {
      const text = textOf(show(row));
      bytes += Buffer.byteLength(text);
      if (!(await hasRoom())) {
        // What the rest of it has, nobody looked at.
        had(itemBytes, 1);
        if (shown.length > 0) return { shown, next: after };
        // Not awaited here: what was read is let go, and nobody holds while it waits.
        giveBack();
        return readPage(context, listed, bytes);
      }
      shown.push(text);
      after = position(row);
    }
    had(bytes - begunAt, Math.min(rows.length, wanted));
    due = (bytes - begunAt) / parts;
    if (rows.length <= wanted) return { shown, next: null };
    if (shown.length === page.limit) return { shown, next: after };
  }
}

/** A page that ends at no size: takes what most have before it is read, and the rest once it is there, as lists do. */
export async function wholePage(
  context: Taking,
  itemBytes: number,
  make: () => Promise<Reply>,
  firstBytes = Math.min(context.page.limit * itemBytes, FIRST_BYTES),
): Promise<Reply> {
  const { takeBytes, takeTurn, giveBack } = context;
  await takeBytes(firstBytes);
  await takeTurn({ bytes: firstBytes });
  const made = await make();
  const bytes = Buffer.byteLength(made.json);
  if (bytes <= firstBytes || (await isGiven(takeBytes(bytes - firstBytes)))) return made;
  // Not awaited here: what was read is let go, and nobody holds while it waits.
  giveBack();
  return wholePage(context, itemBytes, make, bytes);
}

const isGiven = (taking: Promise<unknown>): Promise<boolean> =>
  taking.then(
    () => true,
    () => false,
  );

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
      const listed = { list: row.path, itemBytes, read: (page: ReadPage) => read(context, page), position, show };
      const { shown, next } = await readPage(context, listed);
      const cursor = next === null ? null : context.page.cursorOf(next);
      return { status: 200, json: `{"${name}":[${shown.join(",")}],"next_cursor":${JSON.stringify(cursor)}}` };
    },
  });
