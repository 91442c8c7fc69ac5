import express, { type Express, type NextFunction, type Request, type Response } from "express";
import { AppError } from "../../core/errors.js";
import type { Log } from "../../core/log.js";
import type { Route } from "../route.js";
import { pageRouter } from "./pages.js";
import { refuse } from "./refuse.js";
import type { Stages } from "./stages.js";

export interface AppDeps {
  readonly routes: readonly Route[];
  readonly stages: Stages;
  readonly log: Log;
  readonly trustProxy: number;
}

/** Express tries routes in order, so the hot ones come first. No sub-app: it would set prototypes again. */
export function createApp({ routes, stages, log, trustProxy }: AppDeps): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.set("query parser", "simple");
  app.set("trust proxy", trustProxy);
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [path, rows] of byPath(routes)) {
    const place = router.route(path);
    for (const row of rows) place[row.method](...stages(row));
    place.all((_request: Request, _response: Response) => {
      throw notAllowed(rows);
    });
  }
  app.use(router);
  app.use(pageRouter());
  app.use(() => {
    throw new AppError("not_found", "There is no such route.");
  });
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const badPath = error instanceof URIError ? new AppError("bad_request", "The path is not valid.") : error;
    const { path } = (request.route ?? { path: null }) as { readonly path: string | null };
    refuse(log, request, response, badPath, path);
  });
  return app;
}

function byPath(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
}

function notAllowed(rows: readonly Route[]): AppError {
  const methods = rows.flatMap(({ method }) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
  return new AppError("method_not_allowed", `Allowed here: ${methods.join(", ")}.`, {
    headers: { Allow: methods.join(", ") },
  });
}
