import type { Flood } from "../flood.js";
import { ACCESS } from "./access.js";
import { CONNECTIONS } from "./connections.js";
import { READS } from "./reads.js";
import { SCHEMAS } from "./schemas.js";
import { WRITES } from "./writes.js";

export const FLOODS: readonly Flood[] = [...READS, ...WRITES, ...SCHEMAS, ...ACCESS, ...CONNECTIONS];
