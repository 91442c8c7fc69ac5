import type { RootHookObject } from "mocha";
import { closeSharedApp } from "./app.js";

/** What mocha runs around everything; `.mocharc.json` names this file. */
export const mochaHooks: RootHookObject = { afterAll: closeSharedApp };
