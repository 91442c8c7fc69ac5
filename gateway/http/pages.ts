import express, { type Router } from "express";
import helmet from "helmet";

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

/** Pages for a browser. They have their own router, because they need other headers than the API. */
export function pageRouter(): Router {
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
  return router;
}
