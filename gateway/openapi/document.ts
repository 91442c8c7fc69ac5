import type { TSchema } from "typebox";
import { TAGS, type Answered, type Route } from "../route.js";
import { answersOf } from "../shapes/answers.js";
import { answerOf, operationOf, refusalName, SECURITY_SCHEMES, type Json } from "./operation.js";

const DESCRIPTION =
  "Event ingestion and identity: every event stored exactly once, one profile per person. The key selects the workspace; its role decides what it may do: `viewer < editor < admin < owner`. Lists take `limit` and `cursor`.";

/** The OpenAPI 3.1 document of the rows. */
export function documentOf(rows: readonly Route[]): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of rows) {
    const path = row.path.replaceAll(/:(\w+)/g, "{$1}");
    (paths[path] ??= {})[row.method] = operationOf(row, linksOf(row, rows));
  }
  const used = new Set(rows.map(({ tag }) => tag));
  return {
    openapi: "3.1.0",
    info: {
      title: "Onym",
      // Of the interface: all of it is under /v1.
      version: "1",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).flatMap(([name, description]) =>
      used.has(name as keyof typeof TAGS) ? [{ name, description }] : [],
    ),
    paths,
    components: { securitySchemes: SECURITY_SCHEMES, responses: refusalsOf(rows) },
  };
}

/** The refusals that many routes share. */
function refusalsOf(rows: readonly Route[]): Json {
  const found = rows.flatMap((row) =>
    Object.entries(answersOf(row))
      .filter(([status]) => !(status in row.responses))
      .map(([status, schema]) => [refusalName(Number(status)), answerOf(Number(status), schema)] as const),
  );
  return Object.fromEntries(found);
}

/** From an answer to the operations whose example takes an id out of it. */
function linksOf(source: Route, rows: readonly Route[]): ReadonlyMap<number, Json> {
  const links = new Map<number, Record<string, unknown>>();
  for (const { operationId, example } of rows) {
    const taken = Object.entries(example.params ?? {}).flatMap(([name, value]) =>
      typeof value === "object" && value.operationId === source.operationId ? [{ name, value }] : [],
    );
    const [first] = taken;
    if (first === undefined) continue;
    const status = statusWith(source, first.value);
    const parameters = Object.fromEntries(taken.map(({ name, value }) => [name, `$response.body#${value.pointer}`]));
    links.set(status, Object.assign(links.get(status) ?? {}, { [operationId]: { operationId, parameters } }));
  }
  return links;
}

/** The first answer that has the member. A pointer to nothing is a mistake in a row, which a test finds. */
function statusWith({ operationId, responses }: Route, { pointer }: Answered): number {
  const [, member = ""] = pointer.split("/");
  const found = Object.entries(responses).find(([, schema]) => member in propertiesOf(schema));
  if (found === undefined) throw new Error(`no answer of ${operationId} has ${pointer}`);
  return Number(found[0]);
}
const propertiesOf = (schema: TSchema | null): object => {
  const { properties = {} } = (schema ?? {}) as { readonly properties?: object };
  return properties;
};
