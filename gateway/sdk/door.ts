import type { Request, Response } from "express";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import { openEnvelope, writeKeysIn, type Envelope } from "../../core/sdk/envelope.js";
import type { Authenticator } from "../access/authenticate.js";
import { addressOf } from "../access/rate-limit.js";
import { copyBytes, createByteBudget, hold, type ByteBudget, type HeldBytes } from "../body/budget.js";
import { hasBody, isCounted } from "../body/read.js";
import type { Route } from "../route.js";
import { readSdkBody } from "./body.js";
import { agreed, keysInBody, keysInHead, unauthenticated, type FoundKey } from "./write-key.js";

const MIB = 1_048_576;
/** While no key was seen in the head: what it costs to read it is paid by us for whoever sends it. */
const KEYLESS_BODY_BYTES_MAX = MIB / 2;
const KEYLESS_BYTES_MAX = 16 * MIB;
const KEYLESS_ADDRESS_BYTES_MAX = KEYLESS_BYTES_MAX / 16;

export interface SdkDoorDeps {
  readonly authenticator: Pick<Authenticator, "secret" | "refuse">;
  /** For the bodies of callers that are known. */
  readonly bodies: ByteBudget;
  readonly bodyBytesMax: number;
}

/** What a request of an SDK holds. */
export interface SdkRequest {
  readonly bytes: Buffer;
  /** Null where the route reads no body. */
  readonly envelope: Envelope | null;
  readonly writeKey: string;
}

/** Makes the key's owner the caller of the request; throws what the key may not. */
export type Admit = (request: Request, response: Response, key: KeyRecord) => Promise<void>;

export interface SdkDoor {
  /** Reads the requests of a route in the dialect of SDKs: who sends it, which only its body may say, and what it holds. */
  dialect(
    route: Pick<Route, "body" | "bodyIs">,
    admit: Admit,
  ): (request: Request, response: Response) => Promise<SdkRequest>;
  /** Reads a batch in the form of SDKs that a key of ours sends; its `writeKey` is not looked at. */
  batch(request: Request, response: Response, workspace: WorkspaceId): Promise<SdkRequest>;
}

export function createSdkDoor({ authenticator, bodies, bodyBytesMax }: SdkDoorDeps): SdkDoor {
  const keyless = createByteBudget({
    bytesMax: KEYLESS_BYTES_MAX,
    ownerBytesMax: KEYLESS_ADDRESS_BYTES_MAX,
    refusal: () => new AppError("rate_limited", KEYLESS_FULL, { headers: { "Retry-After": "2" } }),
  });
  const keyOf = async (request: Request, response: Response, given: string | null): Promise<KeyRecord> => {
    const key = await authenticator.secret(request, response, given, NO_KEY);
    return key.send === "collect" ? key : authenticator.refuse(request, response, key.keyId, WRONG_KIND);
  };
  /** Keys of which nobody can say which one counts are as wrong as a wrong one. */
  const counted = async <T>(request: Request, response: Response, find: () => T): Promise<T> => {
    try {
      return find();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "unauthenticated") throw error;
      return authenticator.refuse(request, response, null, error.message);
    }
  };

  const readOf = async (
    request: Request,
    response: Response,
    workspace: WorkspaceId,
    isBatch: boolean,
  ): Promise<Opened> => {
    const held = hold(response, bodies.open(workspace));
    const opened = await open(request, response, { limit: bodyBytesMax, held, isBatch });
    if (isCounted(request, opened.bytes)) held.add(copyBytes(opened.bytes));
    return opened;
  };

  const dialect: SdkDoor["dialect"] = ({ body, bodyIs }, admit) => {
    const isBatch = bodyIs === "sdk_batch";
    /** The key is known before anything is read. */
    const readKnown = async (
      request: Request,
      response: Response,
      inHead: readonly FoundKey[],
      writeKey: string | null,
    ): Promise<SdkRequest> => {
      const key = await keyOf(request, response, writeKey);
      await admit(request, response, key);
      if (body === undefined) return { bytes: NOTHING, envelope: null, writeKey: writeKey ?? "" };
      const opened = await readOf(request, response, key.workspace, isBatch);
      await counted(request, response, () => agreed([...inHead, ...keysInBody(opened.writeKeys)]));
      return readable(opened, writeKey);
    };
    /** Only the body says who sends it. */
    const readUnknown = async (request: Request, response: Response): Promise<SdkRequest> => {
      const held = hold(response, keyless.open(addressOf(request)));
      const limit = Math.min(KEYLESS_BODY_BYTES_MAX, bodyBytesMax);
      const opened = await open(request, response, { limit, held, isBatch });
      const writeKey = await counted(request, response, () => agreed(keysInBody(opened.writeKeys)));
      if (writeKey === null && "error" in opened) throw unauthenticated(`${NO_KEY} And: ${opened.error.message}`);
      const key = await keyOf(request, response, writeKey);
      held.release();
      if (isCounted(request, opened.bytes))
        hold(response, bodies.open(key.workspace)).add(opened.bytes.length + copyBytes(opened.bytes));
      await admit(request, response, key);
      return readable(opened, writeKey);
    };
    return async (request, response) => {
      const [inHead, writeKey] = await counted(request, response, () => {
        const found = keysInHead(request);
        return [found, agreed(found)] as const;
      });
      return writeKey === null && body !== undefined
        ? readUnknown(request, response)
        : readKnown(request, response, inHead, writeKey);
    };
  };
  return {
    dialect,
    batch: async (request, response, workspace) => readable(await readOf(request, response, workspace, true), null),
  };
}

function readable(opened: Opened, writeKey: string | null): SdkRequest {
  if ("error" in opened) throw opened.error;
  return { bytes: opened.bytes, envelope: opened.envelope, writeKey: writeKey ?? "" };
}

interface Reading {
  readonly limit: number;
  readonly held: HeldBytes;
  readonly isBatch: boolean;
}

type Opened = { readonly bytes: Buffer; readonly writeKeys: readonly unknown[] } & (
  | { readonly envelope: Envelope }
  | { readonly error: AppError }
);

/** A body that cannot be read may still say whose it is, and whose it is comes first. */
async function open(request: Request, response: Response, { limit, held, isBatch }: Reading): Promise<Opened> {
  let bytes: Buffer = NOTHING;
  try {
    bytes = hasBody(request) ? await readSdkBody(request, response, limit, held) : NOTHING;
    const envelope = openEnvelope(bytes, isBatch);
    return { bytes, envelope, writeKeys: envelope.writeKeys };
  } catch (error) {
    if (!(error instanceof AppError) || !UNREADABLE.has(error.code)) throw error;
    return { bytes, error, writeKeys: writeKeysIn(bytes, isBatch) };
  }
}

const NOTHING = Buffer.alloc(0);
const UNREADABLE: ReadonlySet<string> = new Set(["invalid_json", "bad_request", "unsupported_media_type"]);

const NO_KEY =
  "Send a valid collect-only key (send: collect): as user name of Authorization: Basic, as ?writeKey=, or as writeKey in the body.";
const KEYLESS_FULL =
  "Too many requests have their key only in the body. Send the key in a header or in the URL, or wait.";
const WRONG_KIND =
  "SDKs need a collect-only key, and this key is not one. Create one with POST /v1/keys and send: collect.";
