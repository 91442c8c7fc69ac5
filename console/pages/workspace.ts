import type { PageGroup } from "../state/pages.js";

/** The workspace itself. */
export const workspacePages: PageGroup = {
  name: "Workspace",
  pages: [
    { path: "/stats", nav: { name: "Statistics", icon: "stats" }, load: () => import("./workspace/stats.js") },
    { path: "/keys", nav: { name: "Keys", icon: "key" }, role: "owner", load: () => import("./workspace/keys.js") },
    {
      path: "/namespaces",
      nav: { name: "Namespaces", icon: "namespace" },
      load: () => import("./workspace/namespaces.js"),
    },
    { path: "/settings", nav: { name: "Settings", icon: "settings" }, load: () => import("./workspace/settings.js") },
  ],
};
