import type { Static, TObject, TProperties, TSchema } from "typebox";
import type { Caller, CountItems, LookWithBytes, TakeBytes } from "../commands/services.js";
import type { KeyRecord, Role, Send } from "../core/catalog/catalog.js";
import type { Batch } from "./body/batch.js";
import type { Door } from "../core/metrics.js";

/** Who may call. `send`: also keys that may only send: `collect` all of them, `all` those that may send all. */
export type Access =
  | { readonly kind: "role"; readonly role: Role; readonly send?: Send }
  /** A collect-only key, in one of the places where SDKs have it. */
  | { readonly kind: "write_key" }
  | { readonly kind: "operator" }
  | { readonly kind: "open" };

/** The page of a list that a request asks for. */
export interface Page {
  readonly limit: number;
  /** The last position of the page before, or null at the beginning. */
  readonly after: readonly string[] | null;
  readonly cursorOf: (position: readonly string[]) => string;
}

/** Of an answer, a part that is about to be read. */
export interface Part {
  /** About what it has, or with `of` what it has at most. */
  readonly bytes: number;
  /** Nobody knows what it has: so many items of a list, of which each has about as much as those of the workspace had before. */
  readonly of?: { readonly list: string; readonly items: number };
  /** So many parts are read at once where few answers of the workspace are being made. */
  readonly most?: number;
}

/** A turn of the event loop in which other answers of the workspace leave room for the part. */
export type TakeTurn = (part: Part) => Promise<{
  /** So many parts may be read. */
  readonly parts: number;
  /** To be told what so many items had. */
  readonly had: (bytes: number, items: number) => void;
}>;

export interface Context<Params = unknown, Query = unknown, Body = unknown> extends Caller {
  readonly takeBytes: TakeBytes;
  /** Behind it, before each part of an answer is read. */
  readonly takeTurn: TakeTurn;
  /** The same for work that takes seconds, a little at a time: other reads of the workspace begin meanwhile. */
  readonly takeBytesForLong: TakeBytes;
  /** Between two parts of such work: the next one takes its bytes in turn with the others. */
  readonly giveBack: () => void;
  readonly lookWithBytes: LookWithBytes;
  readonly key: KeyRecord;
  /** When the caller's session ends, in milliseconds since 1970; null: with the key. */
  readonly until: number | null;
  readonly countItems: CountItems;
  readonly params: Params;
  /** With the defaults of what was not given. */
  readonly query: Query;
  readonly body: Body;
  /** The body as it came; empty where none is read. */
  readonly bytes: Buffer;
  /** The bytes of one of the body's members, as sent. */
  readonly raw: (name: string) => Buffer;
  /** Of a route whose query has `PAGE`, or its body `PAGE_IN_BODY`, or that answers lines. */
  readonly page: Page;
  /** Of a route whose body is a batch. */
  readonly batch: Batch;
  /** Counts the further events of a batch against the inline limit. */
  readonly countChecks: CountItems;
  readonly idempotencyKey: string | null;
  /** As sent; null if it was not sent. */
  readonly ifMatch: string | null;
  /** Nobody waits for the answer any more. */
  readonly isGone: () => boolean;
}

/** `json` is complete JSON text, in UTF-8 where it is bytes. */
export interface Reply {
  readonly status: number;
  readonly json: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * An answer of any length, made as the client takes it: JSON texts, each sent as a line, a part of them at a time. What `parts` throws
 * after the first part breaks the connection.
 */
export interface Lines {
  readonly parts: AsyncIterable<readonly (string | Buffer)[]>;
}

/** Server-sent events for as long as the client listens. */
export interface ServerSentEvents {
  /**
   * Begins to call `send` with what is to be sent, each a whole event or several. Answers how to stop. Asked now and then, `isOver` says that
   * nobody may listen any more.
   */
  readonly begin: (send: (text: string) => void) => Promise<() => void>;
  readonly isOver: () => Promise<boolean>;
}

/** Status -> the schema of the answer's body; null: it has none. */
export type Responses = Readonly<Record<number, TSchema | null>>;

/** The groups of the API reference, in its order. */
export const TAGS = {
  Send: "Send events, and link identifiers.",
  Read: "Events and profiles.",
  Identity: "Why identifiers are one person, the rules for links, and undo.",
  Audiences: "Named rules over profiles, and their members.",
  Schemas: "Schemas and datasets: what events look like, and which are folded into profiles.",
  SDKs: "Routes for the SDKs of Segment and RudderStack, and their settings.",
  Export: "Export all data of a workspace, and import it into another installation.",
  Erase: "Erase a person, and prove it.",
  Manage: "Keys, workspaces and dead letters.",
  Operate: "Health, readiness, metrics and documentation.",
} as const;

/** A value that the example of another operation answered, by its JSON pointer there. `shown` stands for it in the reference. */
export interface Answered {
  readonly operationId: string;
  readonly pointer: string;
  readonly shown: string;
}

/** A call that answers 2xx in a workspace where the examples before it were called. */
export interface Example {
  readonly params?: Readonly<Record<string, string | Answered>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  /** Operations whose examples are called before, besides those of `params`. */
  readonly after?: readonly string[];
}

/** What the reference tells of an operation. */
export interface Described {
  /** Its name in OpenAPI: a verb and what it is about. */
  readonly operationId: string;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  /** What the summary leaves out, in Markdown. */
  readonly description?: string;
  readonly example: Example;
}

interface RowBase<Params extends TProperties, Query extends TProperties, Body extends TSchema> extends Described {
  readonly method: "get" | "post" | "patch" | "put" | "delete";
  /** Express path, with `:name` parameters. */
  readonly path: string;
  /** Other paths of the same. */
  readonly also?: readonly string[];
  readonly access: Access;
  /** A browser's page of another origin may call it, with a collect-only key. */
  readonly cors?: true;
  /** A parameter that does not match is answered `not_found`. */
  readonly params?: Params;
  /** Any other parameter is 400, so that a typing error never changes what a call does. */
  readonly query?: Query;
  /** Without it no body is read. */
  readonly body?: Body;
  /**
   * `optional`: it may be absent. `event`: its bytes are passed on as they came, and the command checks them. `batch`: the same for each of
   * its events, `lines` for each line of an export. `sdk_batch` and `sdk_item`: so do those of an SDK, which stand in `batch` or are one.
   */
  readonly bodyIs?: "optional" | "event" | "batch" | "lines" | "sdk_batch" | "sdk_item";
  readonly bodyDepthMax?: number;
  /** Events come in here: each refusal counts as one of an event. `link`: identifiers do, and a refusal counts as one of a call. */
  readonly door?: Door | "link";
  /** Its answer may be large although it is no `get`: it takes its bytes as those do. */
  readonly isRead?: true;
  /** It reads as much as those do, and changes something. */
  readonly takesBytes?: true;
  /** Its cursor holds what was found so far, of which another `limit` would have kept more: it is good only with its own. */
  readonly cursorKeepsLimit?: true;
  /** Its 200 and 201 have an `ETag`, which If-Match takes. */
  readonly hasEtag?: true;
  /** It answers `Lines`; the schema of its 200 is that of one line. Its query has `AFTER`. */
  readonly answersLines?: true;
  /** It answers `ServerSentEvents`; the schema of its 200 is that of the data of one. */
  readonly answersEvents?: true;
  /** The route's successful answers and its own refusals; `gateway/shapes/answers.ts` adds those of all routes. */
  readonly responses: Responses;
}

/** The contract of a route: what it takes, who may call it, what it answers, and the work itself. */
export interface Row<Params extends TProperties, Query extends TProperties, Body extends TSchema> extends RowBase<
  Params,
  Query,
  Body
> {
  /** Counts against the inline limit before the body is read. */
  readonly inlineLimited?: (query: Static<TObject<Query>>) => boolean;
  readonly handle: (
    context: Context<Static<TObject<Params>>, Static<TObject<Query>>, Static<Body>>,
  ) => Promise<Reply | Lines | ServerSentEvents>;
}

export interface Route extends RowBase<TProperties, TProperties, TSchema> {
  readonly inlineLimited?: (query: unknown) => boolean;
  readonly handle: (context: Context) => Promise<Reply | Lines | ServerSentEvents>;
}

/** Only SDKs call it: with their kind of key, or a page without any. */
export const isOfSdks = ({ access, cors }: Pick<Route, "access" | "cors">): boolean =>
  access.kind === "write_key" || (access.kind === "open" && cors === true);

/** The handler sees the types of the row's schemas; the stages guarantee them. */
export const route = <
  Params extends TProperties = TProperties,
  Query extends TProperties = TProperties,
  Body extends TSchema = TSchema,
>(
  row: Row<Params, Query, Body>,
): Route => row as unknown as Route;

export const reply = (status: number, value: unknown): Reply => ({ status, json: textOf(value) });

/** A value that is already JSON text stays as it is. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** An object whose last member is JSON text that came from a client: kept as it was sent. */
export function withRaw(value: object, name: string, raw: string): string {
  const head = JSON.stringify(value).slice(0, -1);
  return `${head}${head.length > 1 ? "," : ""}${JSON.stringify(name)}:${raw}}`;
}
