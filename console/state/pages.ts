import type { FunctionComponent } from "preact";
import type { IconName } from "../ui/icons.js";
import type { Role } from "../api/types.js";

/** What a page is drawn with. */
export interface PageProps {
  /** Of its path: `id` of `/profiles/:id`. */
  readonly params: Readonly<Record<string, string>>;
  /** Behind the `?` of the address. */
  readonly query: URLSearchParams;
}

export interface PageEntry {
  /** `/profiles/:id`; the whole of it is the address behind the `#`. */
  readonly path: string;
  /** In the navigation; null: it is reached from another page. */
  readonly nav: { readonly name: string; readonly icon: IconName } | null;
  /** Who may see it at all; a viewer if it is not said. */
  readonly role?: Role;
  /** Of a page without a place in the navigation: whose place is marked instead. */
  readonly under?: string;
  /** Loaded when it is opened first: `() => import("./data/live.js")`. The module exports `Page`. */
  readonly load: () => Promise<{ readonly Page: FunctionComponent<PageProps> }>;
}

export interface PageGroup {
  readonly name: string;
  readonly pages: readonly PageEntry[];
}
