import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import { Type } from "typebox";
import { AppError } from "../../core/errors.js";
import type { Authenticator } from "../access/authenticate.js";
import type { ConsoleKeys } from "../access/console-key.js";
import { checkBodyHead, readBody, type BodyLimit } from "../body/read.js";
import { policy, SELF } from "../http/page-router.js";
import { sendReply } from "../http/respond.js";
import { bodyReader } from "../http/validate.js";
import { record } from "../shapes/fields.js";
import type { ConsoleFile, ConsoleFiles } from "./files.js";

export interface ConsoleDeps {
  readonly files: ConsoleFiles;
  readonly keys: ConsoleKeys;
  readonly authenticator: Pick<Authenticator, "secret">;
}

/** No script that is not ours runs, and ours makes no markup out of text. */
const headers = policy({
  scriptSrc: SELF,
  styleSrc: SELF,
  imgSrc: [...SELF, "data:"],
  connectSrc: SELF,
  requireTrustedTypesFor: ["'script'"],
});

const LOGIN = record({ key: Type.String({ maxLength: 256 }) });
const LOGIN_LIMIT: BodyLimit = { bytesMax: 1_024, toldMax: 1_024, path: "" };

/** The console's own pages and its log-in. All else that it does, it does through `/v1`. */
export function consoleRouter({ files, keys, authenticator }: ConsoleDeps): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  // Relative, for a proxy that puts a prefix before it.
  router.get("/console", headers, (_request, response) => response.redirect(308, "console/"));
  router.get("/console/", headers, (request, response) => {
    response.set("Cache-Control", "no-cache");
    send(request, response, files.page);
  });
  router.get("/console/assets/:name", headers, (request, response) => {
    const file = files.assets.get(request.params.name);
    if (file === undefined) throw new AppError("not_found", "There is no such file.");
    response.set("Cache-Control", "public, max-age=31536000, immutable");
    send(request, response, file);
  });
  // Without it, the page would ask with a request that is refused, and every browser shows that as a mistake.
  router.get("/console/session", tellSession(keys));
  router.post("/console/session", login(keys, authenticator));
  router.delete("/console/session", logout(keys));
  router.get("/console/*rest", headers, toThePage);
  return router;
}

/** Whoever types a page's address without its # comes to the start; a program is told that nothing is there. */
const toThePage: RequestHandler = (request, response, next) => {
  const rest = request.path.slice("/console/".length);
  if (rest.startsWith("assets/") || request.accepts(["json", "html"]) !== "html") return next();
  // Relative, for a proxy that puts a prefix before it.
  response.redirect(302, "../".repeat(rest.split("/").length - 1) || "./");
};

const logout =
  (keys: ConsoleKeys): RequestHandler =>
  async (request, response) => {
    keys.requireOwnPage(request);
    sendReply(response, { status: 204, json: "", headers: { "Set-Cookie": await keys.end(request) } });
  };

const tellSession =
  (keys: ConsoleKeys): RequestHandler =>
  async (request, response) => {
    sendReply(response, { status: 200, json: JSON.stringify({ is_open: await keys.has(request) }) });
  };

function login(keys: ConsoleKeys, authenticator: ConsoleDeps["authenticator"]): RequestHandler {
  const read = bodyReader({ body: LOGIN });
  return async (request, response) => {
    keys.requireOwnPage(request);
    checkBodyHead(request, LOGIN_LIMIT);
    const { body } = read(await readBody(request, response, LOGIN_LIMIT));
    const { key: given } = body as { readonly key: string };
    const key = await authenticator.secret(
      request,
      response,
      given.trim(),
      "This key does not exist, or it was revoked.",
    );
    if (key.send !== null)
      throw new AppError(
        "insufficient_scope",
        "This key can only send events. Log in with a viewer, editor, admin or owner key.",
      );
    // Its session would be over at once.
    if (key.successor !== null)
      throw new AppError(
        "insufficient_scope",
        `This key was rotated. Log in with the key that took its place: ${key.successor}.`,
      );
    sendReply(response, { status: 204, json: "", headers: { "Set-Cookie": keys.begin(key) } });
  };
}

function send(request: Request, response: Response, { type, plain, gzipped }: ConsoleFile): void {
  const isZipped = request.acceptsEncodings("gzip", "identity") === "gzip";
  response.set({ "Content-Type": type, Vary: "Accept-Encoding", ...(isZipped && { "Content-Encoding": "gzip" }) });
  response.send(isZipped ? gzipped : plain);
}
