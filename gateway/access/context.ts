import type { Response } from "express";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Batch } from "../body/batch.js";
import type { Context, Page, TakeTurn } from "../route.js";
import { COUNT_NOTHING } from "./item-limit.js";

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The handler's context; each stage adds a part of it. */
export const contextOf = (response: Response): Writable<Context> => response.locals["context"] as Writable<Context>;

const NO_BODY = Buffer.alloc(0);
/** Routes without a key never read it: `access` and the handler are in the same row. */
const NO_KEY = { keyId: "", workspace: "" as WorkspaceId } as KeyRecord;
const NO_BYTES = async (): Promise<boolean> => false;
const NO_TURN: TakeTurn = async ({ most = 1 }) => ({ parts: most, had: () => {} });
const NOT_GONE = (): boolean => false;
const NO_BATCH: Batch = { items: [], isOneText: true };
const NO_PAGE: Page = { limit: 0, after: null, cursorOf: () => "" };

export const beginning = (now: number): Context => ({
  workspace: NO_KEY.workspace,
  keyId: NO_KEY.keyId,
  sender: NO_KEY.keyId,
  send: null,
  key: NO_KEY,
  until: null,
  countItems: COUNT_NOTHING,
  now,
  params: NO_KEY,
  query: NO_KEY,
  takeBytes: NO_BYTES,
  takeTurn: NO_TURN,
  takeBytesForLong: NO_BYTES,
  giveBack: () => {},
  lookWithBytes: (_, isSo) => isSo(),
  page: NO_PAGE,
  body: undefined,
  bytes: NO_BODY,
  raw: () => NO_BODY,
  batch: NO_BATCH,
  countChecks: COUNT_NOTHING,
  idempotencyKey: null,
  ifMatch: null,
  isGone: NOT_GONE,
});
