import type { Http } from "../client/http.js";
import type { Service } from "./connection.js";
import type { Exit } from "./fail.js";
import type { Options, Values } from "./options.js";
import type { World } from "./world.js";

export interface Context {
  readonly positionals: readonly string[];
  readonly values: Values;
  readonly world: World;
  readonly service: Service;
  /** Throws when there is no key. */
  readonly http: (retryMs?: number) => Http;
  /** Prints a value as JSON with `--json`, else as the text. */
  readonly print: (value: unknown, text: string) => Promise<void>;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** How it is called, and its own options. */
  readonly help: string;
  readonly options: Options;
  /** Nothing else comes of it than what it prints, so it ends as soon as nobody reads on: `onym tail | head`. */
  readonly onlyPrints?: boolean;
  readonly run: (context: Context) => Promise<Exit>;
}

/** A GET, or a POST that only reads. */
export const read = <Answer>(http: Http, path: string, body?: unknown): Promise<Answer> =>
  http<Answer>({ method: body === undefined ? "GET" : "POST", path, body, repeatable: true });

/** What must not be done twice. */
export const write = <Answer>(http: Http, method: "POST" | "DELETE", path: string, body?: unknown): Promise<Answer> =>
  http<Answer>({ method, path, body, repeatable: false });

const PAGE = 100;

/** All items of a list, page after page. */
export async function* pages<Item>(http: Http, path: string, name: string): AsyncGenerator<Item> {
  let cursor: string | null = null;
  do {
    const query: string = `limit=${PAGE}${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page: Readonly<Record<string, unknown>> = await read(
      http,
      `${path}${path.includes("?") ? "&" : "?"}${query}`,
    );
    yield* page[name] as readonly Item[];
    cursor = page["next_cursor"] as string | null;
  } while (cursor !== null);
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
