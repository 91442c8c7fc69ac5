import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import { invalidParameter } from "../../core/errors.js";
import { authorize, type Authenticator } from "../access/authenticate.js";
import { beginning, contextOf } from "../access/context.js";
import type { ItemLimit } from "../access/item-limit.js";
import type { Limiter } from "../access/rate-limit.js";
import { isOfSdks, type Access, type Context, type Reply, type Route } from "../route.js";
import type { SdkDoor } from "../sdk/door.js";
import { inDialect } from "../sdk/refusal.js";
import type { Cursors } from "../shapes/cursors.js";
import { refusesIfMatch } from "../shapes/etag.js";
import { readIdempotencyKey, requireAccepted, requireExpected, requireSingleHeaders } from "../shapes/head.js";
import { isPaged, linesOfRequest, pageOfRequest } from "../shapes/page.js";
import { answerLines, type LineDeps } from "../stream/answer.js";
import { answerEvents } from "../stream/events.js";
import { readBatch } from "../body/batch.js";
import { copyBytes, giveBack, hold, type ByteBudget } from "../body/budget.js";
import { checkBodyHead, hasBody, isSmall, readBody, type BodyLimit } from "../body/read.js";
import { shareOf } from "../../commands/quarantine.js";
import { openToPages, requireOrigin } from "./cors.js";
import { isDryRun, type MeteredResponse, type RouteMeter, type Served } from "./meter.js";
import type { Refusing } from "./refuse.js";
import { sendReply } from "./respond.js";
import { SHUTTING_DOWN } from "./stopping.js";
import { isLarge } from "./turns/workspace.js";
import { bodyReader, paramsReader, queryReader } from "./validate.js";

export interface StageDeps extends LineDeps {
  readonly authenticator: Authenticator;
  readonly inlineLimit: Limiter;
  readonly itemLimit: ItemLimit;
  readonly eventLimit: BodyLimit;
  readonly bodyLimit: BodyLimit;
  readonly batchLimit: BodyLimit;
  /** Of lines of exports. */
  readonly linesLimit: BodyLimit;
  /** Of bodies in flight, by workspace. */
  readonly bodyBytes: ByteBudget;
  readonly cursors: Cursors;
  readonly sdkDoor: SdkDoor;
  /** How the answers of a route are counted. */
  readonly meterOf: (method: string, path: string) => RouteMeter;
}

/** The middleware of one route. */
export type Stages = (route: Route) => readonly RequestHandler[];

/** Every request goes through these stages in order: who is it, what may it do, how often; then the body, then the work. */
export const createStages = (deps: StageDeps): Stages => {
  const shared = sharedStages(deps);
  const { limits } = shared;
  const [checkHead, checkHeadOfLines, checkHeadOfEvents] = [
    shared.checkHead("application/json"),
    shared.checkHead("application/x-ndjson"),
    shared.checkHead("text/event-stream"),
  ];
  const headOf = ({ answersLines, answersEvents }: Route) =>
    answersLines === true ? checkHeadOfLines : answersEvents === true ? checkHeadOfEvents : checkHead;
  return (route) =>
    isOfSdks(route)
      ? [
          refuseInDialect,
          begin(deps, route),
          checkHead,
          ...(route.access.kind === "write_key" ? [takeFromSdk(deps, route)] : []),
          answer(deps, route),
        ]
      : [
          begin(deps, route),
          headOf(route),
          identifyCaller(deps, route),
          readParameters(deps, route),
          ...(route.access.kind === "role" && route.access.send !== undefined ? [limitItems(deps, route)] : []),
          ...(route.inlineLimited === undefined ? [] : [limits(route.inlineLimited)]),
          ...(route.body === undefined ? [] : [readerOf(deps, route)]),
          answererOf(deps, route),
        ];
};

function answererOf(deps: StageDeps, route: Route): RequestHandler {
  if (route.answersLines === true) return answerLines(deps, route);
  return route.answersEvents === true ? answerEvents(deps, route) : answer(deps, route);
}

function readerOf(deps: StageDeps, route: Route): RequestHandler {
  if (route.bodyIs === "batch") return takeBatch(deps, "events", deps.batchLimit);
  if (route.bodyIs === "lines") return takeBatch(deps, "lines", deps.linesLimit);
  return route.bodyIs === "sdk_batch" ? takeSdkBatch(deps) : takeBody(deps, route);
}

const refuseInDialect: RequestHandler = (_request, response, next) => {
  (response.locals as Refusing).refusal = inDialect;
  next();
};

function begin({ meterOf, stopping }: StageDeps, route: Route): RequestHandler {
  const { method, path, access, cors, door, inlineLimited } = route;
  const served: Served = {
    meter: meterOf(method.toUpperCase(), path),
    door: door ?? null,
    isCheck: inlineLimited ?? isDryRun,
  };
  // The open routes say that this process is draining, so they answer until the end.
  const answersToTheEnd = access.kind === "open";
  // Not async: a promise for every request would cost more than the question.
  return (request, response, next): Promise<void> | void => {
    (response as unknown as MeteredResponse).served = served;
    if (cors === true) openToPages(request, response);
    if (answersToTheEnd || !stopping.begun.aborted) return next();
    return stopping.unreachable.then(() => {
      throw SHUTTING_DOWN;
    });
  };
}

const sharedStages = (deps: StageDeps) => ({
  checkHead:
    (type: string) =>
    (request: Request, response: Response, next: NextFunction): void => {
      response.locals["context"] = beginning(deps.now());
      requireSingleHeaders(request);
      requireExpected(request);
      requireAccepted(request, type);
      next();
    },
  limits:
    (isLimited: NonNullable<Route["inlineLimited"]>): RequestHandler =>
    async (request, response, next) => {
      const context = contextOf(response);
      if (isLimited(context.query)) {
        const share = shareOf(context);
        await deps.inlineLimit.hit(request, response, share);
        context.countChecks = async (further) => {
          const refusal = await deps.inlineLimit.hitMore(response, share, further);
          if (refusal !== null) throw refusal;
        };
      }
      next();
    },
});

const identifyCaller =
  (deps: StageDeps, { access }: Route): RequestHandler =>
  async (request, response, next) => {
    if (access.kind === "operator") await deps.authenticator.operator(request, response);
    if (access.kind === "role") {
      const { key, until } = await deps.authenticator.caller(request, response);
      admit(deps, request, response, key, access);
      const context = contextOf(response);
      context.until = until;
      const { workspace, now } = context;
      deps.enterTurn({ workspace, now, bytes: 0 }, next);
    } else next();
  };

/** The key's owner is the caller of the request. Throws what the key may not. */
function admit(
  { now }: StageDeps,
  request: Request,
  response: Response,
  key: KeyRecord,
  access: Extract<Access, { kind: "role" }>,
): void {
  const context = contextOf(response);
  context.key = key;
  context.keyId = key.keyId;
  context.sender = key.sender;
  context.send = key.send;
  context.workspace = key.workspace;
  context.now = now(key.workspace);
  requireOrigin(request, response, key);
  authorize(key, access);
}

/** Before the body is read. A request that only checks sends nothing. */
function limitItems({ itemLimit }: StageDeps, { inlineLimited = isDryRun }: Route): RequestHandler {
  const count = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const context = contextOf(response);
    context.countItems = await itemLimit.admit(request, response, context.key);
    next();
  };
  // Not async: most keys have no such limit.
  return (request, response, next): Promise<void> | void => {
    const { key, query } = contextOf(response);
    return key.perMinute === null || inlineLimited(query) ? next() : count(request, response, next);
  };
}

/** What an SDK sends is read before anybody knows whose it is. */
function takeFromSdk(deps: StageDeps, route: Route): RequestHandler {
  const access = { kind: "role", role: "editor", send: "collect" } as const;
  // What a page asks for before it sends is no item.
  const isSending = route.body !== undefined;
  const take = deps.sdkDoor.dialect(route, async (request, response, key) => {
    admit(deps, request, response, key, access);
    if (isSending && key.perMinute !== null)
      contextOf(response).countItems = await deps.itemLimit.admit(request, response, key);
  });
  return async (request, response, next) => {
    const taken = await take(request, response);
    const context = contextOf(response);
    context.params = request.params;
    context.body = taken;
    deps.enterTurn({ workspace: context.workspace, now: context.now, bytes: taken.bytes.length }, next);
  };
}

/** The messages of an SDK, with a key of ours. */
const takeSdkBatch =
  (deps: StageDeps): RequestHandler =>
  async (request, response, next) => {
    const context = contextOf(response);
    const { workspace, now } = context;
    const taken = await deps.sdkDoor.batch(request, response, workspace);
    context.body = taken;
    deps.enterTurn({ workspace, now, bytes: taken.bytes.length }, next);
  };

function readParameters({ cursors }: StageDeps, route: Route): RequestHandler {
  const readParams = paramsReader(route.params ?? {});
  const readQuery = queryReader(route.query ?? {});
  const isList = route.query?.["cursor"] !== undefined;
  const isUnconditional = refusesIfMatch(route);
  return (request, response, next) => {
    const context = contextOf(response);
    context.ifMatch = request.headers["if-match"] ?? null;
    if (isUnconditional && context.ifMatch !== null) throw invalidParameter("If-Match", "is not taken by this route");
    const query = readQuery(request.url.includes("?") ? request.query : null);
    if (route.params !== undefined) readParams(request.params);
    context.params = request.params;
    context.query = query;
    if (isList) {
      // Bound to the id in the request: the position stays valid when the profile merges.
      context.page = pageOfRequest(cursors, context, route, query);
    }
    if (route.answersLines === true) context.page = linesOfRequest(cursors, context, route, query);
    if (route.bodyIs === "event" || route.bodyIs === "batch") context.idempotencyKey = readIdempotencyKey(request);
    next();
  };
}

function takeBody(deps: StageDeps, route: Route): RequestHandler {
  const limit = route.bodyIs === "event" ? deps.eventLimit : deps.bodyLimit;
  const read = route.bodyIs === "event" ? null : bodyReader(route);
  const isList = isPaged(route.body);
  return async (request, response, next) => {
    if (route.bodyIs !== "optional" || hasBody(request)) {
      checkBodyHead(request, limit);
      const context = contextOf(response);
      const { workspace, now } = context;
      const held = isSmall(request) ? null : hold(response, deps.bodyBytes.open(workspace));
      const bytes = await readBody(request, response, limit, held?.came);
      held?.add(copyBytes(bytes));
      if (isLarge(bytes.length))
        await new Promise<void>((resolve) => deps.enterTurn({ workspace, now, bytes: bytes.length }, resolve));
      context.bytes = bytes;
      if (read !== null && (route.bodyIs !== "optional" || bytes.length > 0)) Object.assign(context, read(bytes));
      if (isList) {
        const asked = { ...(context.query as object), ...(context.body as object) };
        context.page = pageOfRequest(deps.cursors, context, route, asked);
      }
    }
    next();
  };
}

const takeBatch =
  ({ bodyBytes, enterTurn }: StageDeps, member: string, limit: BodyLimit): RequestHandler =>
  async (request, response, next) => {
    const context = contextOf(response);
    const { workspace, now } = context;
    const held = hold(response, bodyBytes.open(workspace));
    context.batch = await readBatch(request, response, limit, held, member);
    const bytes = context.batch.items.reduce((sum, { length }) => sum + length, 0);
    if (isLarge(bytes)) await new Promise<void>((resolve) => enterTurn({ workspace, now, bytes }, resolve));
    await context.countItems(context.batch.items.length - 1);
    next();
  };

function answer({ bytesInFlight, traced }: StageDeps, route: Route): RequestHandler {
  const { method, isRead, takesBytes } = route;
  const work = route.handle as (context: Context) => Promise<Reply>;
  const handle = (request: Request, context: Context): Promise<Reply> =>
    traced === null ? work(context) : traced(route, request.headers, () => work(context));
  return async (request, response) => {
    const context = contextOf(response);
    // What the others read and answer is small.
    if (method !== "get" && isRead !== true && takesBytes !== true) {
      sendReply(response, await handle(request, context));
      return giveBack(response);
    }
    const share = bytesInFlight.open(context.workspace);
    context.takeBytes = share.take;
    context.takeTurn = share.takeTurn;
    context.takeBytesForLong = async (bytes) => {
      const hasWaited = await share.take(bytes);
      share.linger();
      return hasWaited;
    };
    context.giveBack = share.giveBack;
    context.lookWithBytes = share.look;
    context.isGone = () => response.destroyed;
    response.once("close", share.leave);
    try {
      const reply = await handle(request, context);
      share.settle(Buffer.byteLength(reply.json));
      sendReply(response, reply);
      giveBack(response);
    } finally {
      // While it worked for a client that is gone, it held what it read.
      if (response.destroyed || !response.headersSent) share.release();
      else response.once("close", share.release);
    }
  };
}
