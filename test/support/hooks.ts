import type { RootHookObject } from "mocha";
import { closeSharedApp } from "./service/app.js";

/** What mocha runs around everything; `.mocharc.json` names this file. */
export const mochaHooks: RootHookObject = { afterAll: closeSharedApp };
