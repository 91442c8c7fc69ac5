import { Type } from "typebox";
import { reply, route, type Route } from "../../route.js";
import { record } from "../../shapes/fields.js";

export interface Readiness {
  /** Whether the process can do its main work. */
  readonly isReady: boolean;
  /** Part -> whether it answered the last probes. */
  readonly checks: Readonly<Record<string, boolean>>;
  /** Of each part that did not: why. */
  readonly reasons: Readonly<Record<string, string>>;
}

const READINESS = record({
  status: Type.Enum(["ready", "degraded", "not_ready"]),
  checks: Type.Record(Type.String(), Type.Boolean()),
  reasons: Type.Record(Type.String(), Type.String()),
});

/** For the machine that runs the process: open, and outside `/v1`. */
export function healthRoutes({ readiness }: { readonly readiness: () => Readiness }): readonly Route[] {
  const open = { method: "get", access: { kind: "open" } } as const;
  return [
    route({
      ...open,
      path: "/healthz",
      operationId: "getHealth",
      tag: "Operate",
      summary: "The process runs",
      example: {},
      responses: { 200: record({ status: Type.Literal("ok") }) },
      handle: async () => reply(200, { status: "ok" }),
    }),
    route({
      ...open,
      path: "/readyz",
      operationId: "getReadiness",
      tag: "Operate",
      summary: "All parts of the process respond",
      example: {},
      responses: { 200: READINESS, 503: READINESS },
      handle: async () => {
        const { isReady, checks, reasons } = readiness();
        const status = !isReady ? "not_ready" : Object.values(checks).every(Boolean) ? "ready" : "degraded";
        return reply(isReady ? 200 : 503, { status, checks, reasons });
      },
    }),
  ];
}
