import express, { type Request, type Response, type Router } from "express";
import helmet from "helmet";
import { SECURITY_HEADERS } from "./respond.js";

/** What a person sees who opens the address in a browser. */
const WELCOME = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Onym</title>
<h1>Onym</h1>
<p>This is an API: its routes are under <code>/v1</code> and take <code>Authorization: Bearer &lt;API_KEY&gt;</code>.</p>
<ul><li><a href="/healthz">/healthz</a>: the process runs</li><li><a href="/readyz">/readyz</a>: its parts answer</li></ul>
</html>
`;

/** What Prometheus reads. */
export interface MetricsPage {
  readonly read: () => Promise<{ readonly type: string; readonly text: string }>;
  /** Throws unless the request may read it. */
  readonly admit: (request: Request, response: Response) => Promise<void>;
}

/** What is no JSON. It has its own router, because it needs other headers than the API, and no caller of a workspace. */
export function pageRouter(metrics: MetricsPage | null): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get(
    "/",
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          baseUri: ["'none'"],
          formAction: ["'none'"],
          frameAncestors: ["'none'"],
        },
      },
      // The proxy that does TLS sends this header; without TLS nobody may.
      strictTransportSecurity: false,
    }),
    (_request, response) => {
      response.set("Cache-Control", "no-store").type("html").send(WELCOME);
    },
  );
  if (metrics !== null) router.get("/metrics", (request, response) => sendMetrics(metrics, request, response));
  return router;
}

async function sendMetrics({ admit, read }: MetricsPage, request: Request, response: Response): Promise<void> {
  await admit(request, response);
  const { type, text } = await read();
  response.set({ ...SECURITY_HEADERS, "Content-Type": type }).send(text);
}
