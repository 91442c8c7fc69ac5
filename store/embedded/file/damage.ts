import type { Database } from "../../../core/database.js";
import { keepPage } from "./check.js";
import { PAGE_BYTES, tombstone } from "./page.js";

interface Use {
  readonly tree: string;
  readonly table: string;
  readonly path: string;
}

/**
 * Says what pages with a tombstone were for, with a count: `events: 2 pages`. A long row goes on in pages that SQLite takes as they are;
 * if one of them is damaged, the page where the row begins gets a tombstone too. A page that nothing uses is emptied, and the list of
 * free pages with it, for it may have been part of that list. Reads the whole file if there is damage.
 */
export function describeDamage(database: Database, file: string, damaged: readonly number[]): readonly string[] {
  if (damaged.length === 0) return [];
  const { usesOf, pageAt, read, write } = preparePages(database);
  const uses = usesOf(damaged);
  const counts = new Map<string, number>();
  for (const number of damaged) {
    const use = uses.get(number);
    if (use === undefined) {
      write(number, Buffer.alloc(PAGE_BYTES));
      const first = Buffer.from(read(1));
      write(1, first.fill(0, FREE_PAGES, FREE_PAGES + 8));
      continue;
    }
    counts.set(use.table, (counts.get(use.table) ?? 0) + 1);
    const [row, overflow] = use.path.split("+");
    const before = overflow === undefined ? undefined : pageAt(use.tree, row!.slice(0, row!.lastIndexOf("/") + 1));
    if (before === undefined) continue;
    keepPage(file, before, read(before));
    write(before, tombstone(before));
  }
  return [...counts].map(([table, pages]) => `${table}: ${pages} ${pages === 1 ? "page" : "pages"}`);
}
/** Where the first page holds the first free page and how many there are. */
const FREE_PAGES = 32;

/** Through SQLite, which may have read the pages already. Text is read as bytes: the driver dies of a text that is not UTF-8. */
function preparePages(database: Database) {
  const uses = database.prepare(
    `SELECT pageno, CAST(name AS BLOB), CAST(coalesce((SELECT tbl_name FROM sqlite_master m WHERE m.name = s.name), name) AS BLOB),
       CAST(path AS BLOB)
     FROM dbstat s WHERE pageno IN (SELECT value FROM json_each(?))`,
  );
  const at = database.prepare("SELECT pageno FROM dbstat WHERE name = ? AND path = ?");
  const select = database.prepare("SELECT data FROM sqlite_dbpage WHERE pgno = ?");
  const update = database.prepare("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?");
  return {
    usesOf: (pages: readonly number[]): ReadonlyMap<number, Use> => {
      const rows = uses.all([JSON.stringify(pages)]) as readonly (readonly [number, Buffer, Buffer, Buffer])[];
      return new Map(
        rows.map(([number, ...names]) => {
          const [tree, table, path] = names.map(String);
          return [number, { tree: tree!, table: table!, path: path! }];
        }),
      );
    },
    pageAt: (tree: string, path: string) => at.get([tree, path])?.[0] as number | undefined,
    read: (number: number): Buffer => select.get([number])![0] as Buffer,
    write: (number: number, page: Buffer): void => void update.run([page, number]),
  };
}
