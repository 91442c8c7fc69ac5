import { createRequire } from "node:module";
import path from "node:path";
import express, { type Request, type Response, type Router } from "express";
import helmet from "helmet";
import { SECURITY_HEADERS } from "./respond.js";

/** What a person sees who opens the address in a browser. */
const welcome = ({ hasDocument, hasConsole }: Pages): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Onym</title>
<h1>Onym</h1>
${hasConsole ? CONSOLE_LINK : ""}<p>This is an API: its routes are under <code>/v1</code> and take <code>Authorization: Bearer &lt;API_KEY&gt;</code>.</p>
<ul>${hasDocument ? DOCUMENT_LINKS : ""}<li><a href="/healthz">/healthz</a>: the process runs</li><li><a href="/readyz">/readyz</a>: its parts respond</li></ul>
</html>
`;
const CONSOLE_LINK = '<p><a href="console/">The console</a>: what arrives, who is who, and how to undo it.</p>\n';
const DOCUMENT_LINKS =
  '<li><a href="/docs">/docs</a>: all routes, to read and to try</li><li><a href="/openapi.json">/openapi.json</a>: the same for tools</li>';

const require = createRequire(import.meta.url);
const { version } = require("swagger-ui-dist/package.json") as { readonly version: string };
/** Of its 13 MB only these are served. The version in the address lets a browser keep them for ever. */
const SWAGGER_FILES = ["swagger-ui-bundle.js", "swagger-ui.css"] as const;

/** Addresses are relative, for a proxy that puts a prefix before them. The icon keeps a browser from asking for one. */
const DOCS = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Onym API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/${version}/swagger-ui.css">
<div id="swagger-ui"></div>
<script src="docs/${version}/swagger-ui-bundle.js"></script>
<script src="docs/init.js"></script>
</html>
`;
/** A file of its own: the policy allows no script in the page. No validator, because that is a server of somebody else. */
const INIT = `SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  docExpansion: "list",
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

const NONE = ["'none'"];
export const policy = (directives: Readonly<Record<string, string[]>>) =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: NONE, baseUri: NONE, formAction: NONE, frameAncestors: NONE, ...directives },
    },
    // The proxy that does TLS sends this header; without TLS nobody may.
    strictTransportSecurity: false,
  });
export const SELF = ["'self'"];
/** Its style sheet has pictures in it as `data:`. */
const docsPolicy = { scriptSrc: SELF, styleSrc: SELF, connectSrc: SELF, imgSrc: [...SELF, "data:"] };

/** What Prometheus reads. */
export interface MetricsPage {
  readonly read: () => Promise<{ readonly type: string; readonly text: string }>;
  /** Throws unless the request may read it. */
  readonly admit: (request: Request, response: Response) => Promise<void>;
}

export interface Pages {
  /** Null: there is none. */
  readonly metrics: MetricsPage | null;
  readonly hasDocument: boolean;
  readonly hasConsole: boolean;
}

/** What is no JSON. It has its own router, because it needs other headers than the API, and no caller of a workspace. */
export function pageRouter(pages: Pages): Router {
  const { metrics, hasDocument } = pages;
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get("/", policy({}), (_request, response) => {
    response.set("Cache-Control", "no-store").type("html").send(welcome(pages));
  });
  if (hasDocument) addDocs(router);
  if (metrics !== null) router.get("/metrics", (request, response) => sendMetrics(metrics, request, response));
  return router;
}

function addDocs(router: Router): void {
  const headers = policy(docsPolicy);
  router.get("/docs", headers, (_request, response) => {
    response.set("Cache-Control", "no-store").type("html").send(DOCS);
  });
  router.get("/docs/init.js", headers, (_request, response) => {
    response.set("Cache-Control", "no-store").type("js").send(INIT);
  });
  const kept = { root: path.dirname(require.resolve("swagger-ui-dist/package.json")), maxAge: "1y", immutable: true };
  for (const file of SWAGGER_FILES)
    router.get(`/docs/${version}/${file}`, headers, (_request, response) => response.sendFile(file, kept));
}

async function sendMetrics({ admit, read }: MetricsPage, request: Request, response: Response): Promise<void> {
  await admit(request, response);
  const { type, text } = await read();
  response.set({ ...SECURITY_HEADERS, "Content-Type": type }).send(text);
}
