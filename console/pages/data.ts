import type { PageGroup } from "../state/pages.js";

/** What arrives, and what it must look like. */
export const dataPages: PageGroup = {
  name: "Events",
  pages: [
    { path: "/start", nav: { name: "Set up", icon: "start" }, load: () => import("./start/start.js") },
    { path: "/live", nav: { name: "Live events", icon: "live" }, load: () => import("./data/live.js") },
    { path: "/schemas", nav: { name: "Schemas", icon: "schema" }, load: () => import("./data/schemas/list.js") },
    {
      path: "/new-schema",
      nav: null,
      role: "admin",
      under: "/schemas",
      load: () => import("./data/schemas/create.js"),
    },
    { path: "/schemas/:id", nav: null, under: "/schemas", load: () => import("./data/schemas/schema.js") },
    { path: "/datasets", nav: { name: "Datasets", icon: "dataset" }, load: () => import("./data/datasets.js") },
    {
      path: "/dead-letters",
      nav: { name: "Dead letters", icon: "letter" },
      role: "admin",
      load: () => import("./data/dead-letters.js"),
    },
  ],
};
