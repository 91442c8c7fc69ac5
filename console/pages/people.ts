import type { PageGroup } from "../state/pages.js";

/** Who is who, why, and how to undo it. */
export const peoplePages: PageGroup = {
  name: "People",
  pages: [
    { path: "/search", nav: { name: "Search", icon: "search" }, load: () => import("./people/search.js") },
    { path: "/profiles/:id", nav: null, under: "/search", load: () => import("./people/profile/profile.js") },
    { path: "/events/:id", nav: null, under: "/search", load: () => import("./people/event.js") },
    { path: "/why", nav: { name: "Why one person?", icon: "why" }, load: () => import("./people/why.js") },
    { path: "/undo", nav: { name: "Undo", icon: "undo" }, role: "admin", load: () => import("./people/undo/page.js") },
    { path: "/changes", nav: { name: "Changes", icon: "changes" }, load: () => import("./people/lists/changes.js") },
    { path: "/changes/:id", nav: null, under: "/changes", load: () => import("./people/lists/change.js") },
    {
      path: "/shared-identifiers",
      nav: { name: "Shared identifiers", icon: "shared" },
      load: () => import("./people/lists/shared.js"),
    },
    {
      path: "/forbidden-pairs",
      nav: { name: "Forbidden pairs", icon: "forbidden" },
      load: () => import("./people/lists/forbidden.js"),
    },
    {
      path: "/erasures",
      nav: { name: "Erasures", icon: "erase" },
      role: "admin",
      load: () => import("./erasures/list.js"),
    },
    {
      path: "/erasures/:id",
      nav: null,
      role: "admin",
      under: "/erasures",
      load: () => import("./erasures/receipt.js"),
    },
  ],
};
