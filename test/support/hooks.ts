import type { RootHookObject } from "mocha";
import { closeSharedApp, removeShared } from "./service/app.js";

/** What mocha runs around everything; `.mocharc.json` names this file. */
export const mochaHooks: RootHookObject = { afterAll: closeSharedApp };
export const mochaGlobalTeardown = removeShared;
