import type { RootHookObject } from "mocha";
import { SERVERS } from "./servers/servers.js";
import { closeSharedApp, removeShared } from "./service/app.js";

/** Loaded only where there is a MongoDB: the driver takes its time. */
const shapes = SERVERS === null ? null : await import("./mongo-shapes/recorder.js");
shapes?.recordShapes();

/** What mocha runs around everything; `.mocharc.json` names this file. */
export const mochaHooks: RootHookObject = {
  afterAll: async () => {
    await closeSharedApp();
    shapes?.requireServed();
  },
};
export const mochaGlobalTeardown = removeShared;
