import type { PageGroup } from "../state/pages.js";

/** Who a rule holds for, and who hears of it. */
export const audiencePages: PageGroup = {
  name: "Audiences",
  pages: [
    { path: "/audiences", nav: { name: "Audiences", icon: "audience" }, load: () => import("./audiences/list.js") },
    {
      path: "/new-audience",
      nav: null,
      role: "editor",
      under: "/audiences",
      load: () => import("./audiences/edit.js"),
    },
    { path: "/audiences/:id", nav: null, under: "/audiences", load: () => import("./audiences/audience.js") },
    {
      path: "/audiences/:id/change",
      nav: null,
      role: "editor",
      under: "/audiences",
      load: () => import("./audiences/edit.js"),
    },
    { path: "/feed", nav: { name: "Feed", icon: "feed" }, load: () => import("./audiences/feed.js") },
    {
      path: "/webhooks",
      nav: { name: "Webhooks", icon: "webhook" },
      role: "admin",
      load: () => import("./audiences/webhooks.js"),
    },
  ],
};
