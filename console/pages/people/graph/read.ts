import { useEffect, useState } from "preact/hooks";
import { api, queryOf } from "../../../api/http.js";
import { returns } from "../../../state/connection.js";
import { useStore } from "../../../state/store.js";
import type { Identifier } from "../parts/records.js";
import { idOf, type Graph, type GraphLink, type GraphNode, type Outline } from "./shape.js";

interface PageOfGraph extends Graph {
  readonly next_cursor: string | null;
}

/** All of it: for a small profile. */
export async function readGraph(profileId: string, signal: AbortSignal): Promise<Graph> {
  // A link that moves while pages are read may come twice.
  const nodes = new Map<string, GraphNode>();
  const links = new Map<string, GraphLink>();
  let cursor: string | null = null;
  do {
    const page: PageOfGraph = await api(
      "GET",
      `/v1/profiles/${profileId}/graph${queryOf({ limit: 100, cursor })}`,
      undefined,
      { signal },
    );
    for (const node of page.nodes) nodes.set(node.uid, node);
    for (const link of page.links) links.set(idOf(link), link);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return { nodes: [...nodes.values()], links: [...links.values()] };
}

export interface Reading {
  readonly outline: Outline | null;
  readonly error: unknown;
}

/** What a picture needs, in one answer. */
export function useOutline(profileId: string, keep: Identifier | null): Reading {
  const [reading, setReading] = useState<Reading>({ outline: null, error: null });
  const returned = useStore(returns);
  const asked = JSON.stringify(keep === null ? {} : { keep });
  useEffect(() => {
    const abort = new AbortController();
    setReading({ outline: null, error: null });
    api<Outline>("POST", `/v1/profiles/${profileId}/outline`, asked, { signal: abort.signal }).then(
      (outline) => setReading({ outline, error: null }),
      (error: unknown) => abort.signal.aborted || setReading({ outline: null, error }),
    );
    return () => abort.abort();
  }, [profileId, asked, returned]);
  return reading;
}
