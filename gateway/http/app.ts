import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from "express";
import { AppError } from "../../core/errors.js";
import type { Log } from "../../core/log.js";
import type { Metrics } from "../../core/metrics.js";
import type { Live } from "../../commands/live/live.js";
import { giveBack } from "../body/budget.js";
import { isOfSdks, type Context, type Route } from "../route.js";
import { inDialect } from "../sdk/refusal.js";
import { answerPreflight, openToPages } from "./cors.js";
import type { MeteredResponse } from "./meter.js";
import { pageRouter, type MetricsPage } from "./page-router.js";
import { refuse, type Refusing } from "./refuse.js";
import type { Stages } from "./stages.js";

export interface AppDeps {
  readonly routes: readonly Route[];
  readonly stages: Stages;
  readonly metrics: Pick<Metrics, "rejected" | "linkRefused">;
  /** Is told of each refused event, and of each refused call of identify and alias. */
  readonly live: Pick<Live, "refused">;
  /** Null: there is none. */
  readonly metricsPage: MetricsPage | null;
  /** Null: there is none. */
  readonly console: Router | null;
  readonly log: Log;
  readonly trustProxy: number;
}

/** Express tries routes in order, so the hot ones come first. No sub-app: it would set prototypes again. */
export function createApp({ routes, stages, metrics, live, metricsPage, console, log, trustProxy }: AppDeps): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.set("query parser", "simple");
  app.set("trust proxy", trustProxy);
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [path, all] of byPath(routes)) {
    const [dialect, rows] = partition(all, ({ access }) => access.kind === "write_key");
    const isShared = dialect.length > 0 && rows.length > 0;
    const place = router.route(path);
    const isForPages = all.some(({ cors }) => cors === true);
    if (isForPages) place.options(answerPreflight);
    for (const row of dialect) place[row.method](...(isShared ? [unlessBearer] : []), ...stages(row));
    const own = isShared ? router.route(path) : place;
    for (const row of rows) own[row.method](...stages(row));
    own.all((request: Request, response: Response) => {
      if (isForPages) openToPages(request, response);
      if (all.some(isOfSdks) && !(isShared && isBearer(request))) (response.locals as Refusing).refusal = inDialect;
      throw notAllowed(all);
    });
  }
  app.use(router);
  app.use(sloppyPaths(routes, router));
  const hasDocument = routes.some(({ path }) => path === "/openapi.json");
  app.use(pageRouter({ metrics: metricsPage, hasDocument, hasConsole: console !== null }));
  if (console !== null) app.use(console);
  app.use(() => {
    throw new AppError("not_found", "There is no such route.");
  });
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const badPath = error instanceof URIError ? new AppError("bad_request", "The path is not valid.") : error;
    const { path } = (request.route ?? { path: null }) as { readonly path: string | null };
    try {
      refuse(log, request, response, badPath, path);
      countRefusal({ metrics, live }, response, badPath);
    } finally {
      giveBack(response);
    }
  });
  return app;
}

function countRefusal({ metrics, live }: Pick<AppDeps, "metrics" | "live">, response: Response, error: unknown): void {
  const { served } = response as unknown as MeteredResponse;
  const context = response.locals["context"] as Context | undefined;
  if (served.door === null || served.isCheck?.(context?.query ?? {}) === true) return;
  const { code, schemaId = null } = error instanceof AppError ? error : { code: "internal" as const };
  const caller = context === undefined || context.keyId === "" ? null : context;
  if (served.door === "link") {
    if (caller !== null) metrics.linkRefused(code, caller);
  } else if (!hasResults(error)) metrics.rejected(code, caller, schemaId);
  // Of a batch each event that is refused was told.
  if (caller !== null && caller.batch.items.length === 0) live.refused(caller, caller.bytes, error);
}

/** A batch that was looked at event by event: each that is refused was counted. */
const hasResults = (error: unknown): boolean => error instanceof AppError && error.members?.["results"] !== undefined;

function byPath(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes)
    for (const path of [route.path, ...(route.also ?? [])]) paths.set(path, [...(paths.get(path) ?? []), route]);
  return paths;
}

const partition = <T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(isFirst),
  all.filter((one) => !isFirst(one)),
];

/** Of two calls with one path, a bearer key means ours: SDKs have another place for theirs. */
const isBearer = ({ headers: { authorization = "basic " } }: Request): boolean => !/^basic /i.test(authorization);
const unlessBearer: RequestHandler = (request, _response, next) => next(isBearer(request) ? "route" : undefined);

/** Some SDKs join a host that ends in a slash with a path that begins with one, or end the path in one. */
function sloppyPaths(routes: readonly Route[], router: Router): RequestHandler {
  const paths = routes
    .filter(isOfSdks)
    .flatMap(({ path, also = [] }) => [path, ...also].map((one) => new RegExp(`^${one.replace(/:\w+/, "[^/]+")}$`)));
  return (request, response, next) => {
    const [path = "", ...query] = request.url.split(/(?=\?)/);
    const plain = path.replace(/\/{2,}/g, "/").replace(/\/$/, "");
    if (plain === path || !paths.some((one) => one.test(plain))) return next();
    request.url = plain + query.join("");
    router(request, response, next);
  };
}

function notAllowed(rows: readonly Route[]): AppError {
  const each = rows.flatMap(({ method }) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
  const methods = [...new Set(each)];
  return new AppError("method_not_allowed", `Allowed here: ${methods.join(", ")}.`, {
    headers: { Allow: methods.join(", ") },
  });
}
