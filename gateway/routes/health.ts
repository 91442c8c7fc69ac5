import { reply, type Route } from "../route.js";

export interface Readiness {
  /** Whether the process can do its work, though perhaps not all of it. */
  readonly isReady: boolean;
  /** Part -> whether it answered the last probes. */
  readonly checks: Readonly<Record<string, boolean>>;
}

/** For the machine that runs the process: open, and outside `/v1`. */
export function healthRoutes({ readiness }: { readonly readiness: () => Readiness }): readonly Route[] {
  const open = { method: "get", access: { kind: "open" }, body: "none", query: [] } as const;
  return [
    { ...open, path: "/healthz", handle: async () => reply(200, { status: "ok" }) },
    {
      ...open,
      path: "/readyz",
      handle: async () => {
        const { isReady, checks } = readiness();
        const status = !isReady ? "not_ready" : Object.values(checks).every(Boolean) ? "ready" : "degraded";
        return reply(isReady ? 200 : 503, { status, checks });
      },
    },
  ];
}
