import { Type } from "typebox";
import { inPortions } from "../../../commands/acceptance/portions.js";
import { beginImport, endImport } from "../../../commands/imports/begin.js";
import { importRecords, judgeRecords } from "../../../commands/imports/records.js";
import type { Services } from "../../../commands/services.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Route } from "../../route.js";
import { FLAG, record } from "../../shapes/fields.js";
import { NEEDED } from "../datasets/datasets.js";
import { readLine } from "./read-lines.js";

const STANDS = Type.Array(Type.String());
const COUNT = Type.Integer({ minimum: 0 });
const STATE = record({ open: Type.Boolean(), stands: STANDS });

const bytesOf = ({ length }: Buffer): number => length;

/** Data of another installation in, in the lines of its exports. */
export function importRoutes(services: Services): readonly Route[] {
  const access = { kind: "role", role: "admin" } as const;
  return [
    route({
      method: "post",
      path: "/v1/imports",
      operationId: "beginImport",
      tag: "Export",
      summary: "Open an empty workspace for the exports of another installation",
      description:
        "409 if the workspace is not empty: `stands` lists what it holds. If an import is already open, it continues. With `dry_run=true`, it only returns the state.",
      example: { query: { dry_run: true } },
      access,
      query: { dry_run: FLAG },
      responses: { 200: STATE, 409: problemSchema(409, { stands: Type.Optional(STANDS) }) },
      handle: async ({ workspace, query }) => {
        const { isOpen, stands } = await beginImport(services, workspace, query.dry_run);
        return reply(200, { open: isOpen, stands });
      },
    }),
    route({
      method: "post",
      path: "/v1/imports/lines",
      operationId: "importLines",
      tag: "Export",
      summary: "Store lines of exports unchanged",
      description:
        "Up to 1,000 lines of `catalog`, `profiles`, `changes`, `links` and `events`, in this order. Lines that are already stored change " +
        "nothing, so you may send them again. `left_out` counts lines of `links` that name an identifier or a change that is not here. With `dry_run=true` they are only checked. Before all others, lines of type `erasure` may " +
        "come: whom they name stays out, as in the old installation.",
      example: {
        query: { dry_run: true },
        body: { lines: [{ type: "end", complete: true, lines: 0 }] },
      },
      access,
      query: { dry_run: FLAG },
      body: record({ lines: Type.Array(Type.Object({}), { minItems: 1, maxItems: 1_000 }) }),
      bodyIs: "lines",
      responses: { 200: record({ stored: COUNT, left_out: COUNT }), 409: NEEDED },
      handle: async ({ workspace, query, batch, now }) => {
        const read = await inPortions(batch.items, bytesOf, async (line, n) => readLine(line, `lines.${n}`, now));
        const records = read.filter((one) => one !== null);
        if (query.dry_run) {
          await judgeRecords(services, workspace, records);
          return reply(200, { stored: 0, left_out: 0 });
        }
        const leftOut = await importRecords(services, workspace, records);
        return reply(200, { stored: records.length - leftOut, left_out: leftOut });
      },
    }),
    route({
      method: "delete",
      path: "/v1/imports",
      operationId: "endImport",
      tag: "Export",
      summary: "End the import",
      example: {},
      access,
      responses: { 204: null },
      handle: async ({ workspace }) => {
        await endImport(services, workspace);
        return reply(204, "");
      },
    }),
  ];
}
