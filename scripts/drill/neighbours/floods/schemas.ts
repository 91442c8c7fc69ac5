import { requireAnswer, type Client } from "../../../shared/client.js";
import { fresh, type Flood, type FloodSite } from "../flood.js";
import { requestOf } from "../wire.js";

const register = async (client: Client, { owner: key }: FloodSite, schemaId: string, schema: object): Promise<void> => {
  const body = { schema_id: schemaId, schema };
  await requireAnswer(client, 201, { method: "POST", path: "/v1/schemas", key, body });
};
const collect = ({ sender }: FloodSite, schemaId: string, payload: object, query = ""): string => {
  const body = { schema_id: schemaId, timestamp: new Date().toISOString(), payload };
  return requestOf("POST", `/v1/collect${query}`, sender, body);
};

const DOUBLINGS = 28;
/** Judged in 2^28 steps; `properties.slow` holds it. */
function doubling(): object {
  const $defs: Record<string, object> = { [`d${DOUBLINGS}`]: {} };
  for (let at = 0; at < DOUBLINGS; at += 1) {
    const next = { $ref: `#/$defs/d${at + 1}` };
    $defs[`d${at}`] = { allOf: [next, next] };
  }
  return { type: "object", properties: { slow: { $ref: "#/$defs/d0" } }, $defs };
}

/** Each level is tried in both branches: a payload of few bytes is judged in 2^depth steps. */
const FILTER = {
  type: "object",
  properties: { n: { type: "integer" }, filter: { anyOf: [{ $ref: "#/$defs/f" }, { $ref: "#/$defs/g" }] } },
  $defs: {
    f: {
      type: "object",
      required: ["f", "x"],
      properties: { f: { anyOf: [{ $ref: "#/$defs/f" }, { $ref: "#/$defs/g" }] } },
    },
    g: {
      type: "object",
      required: ["f", "y"],
      properties: { f: { anyOf: [{ $ref: "#/$defs/f" }, { $ref: "#/$defs/g" }] } },
    },
  },
};
function nestedFilter(depth: number): object {
  let filter: object = {};
  for (let level = 0; level < depth; level += 1) filter = { f: filter };
  return { n: fresh(), filter };
}

const TREE = {
  type: "object",
  properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
};
const tree = { children: Array.from({ length: 5_000 }, (_, n) => ({ name: `n${n}`, children: [{ name: "leaf" }] })) };

export const SCHEMAS: readonly Flood[] = [
  {
    name: "slow schemas",
    prepare: async (client, site) => {
      await register(client, site, "doubling", doubling());
      return [];
    },
    run: (wire, site) => wire.hammer(32, () => collect(site, "doubling", { slow: fresh() })),
  },
  {
    name: "nested filters",
    prepare: async (client, site) => {
      await register(client, site, "filter", FILTER);
      return [];
    },
    run: (wire, site) => wire.hammer(32, () => collect(site, "filter", nestedFilter(50))),
  },
  {
    name: "recursive schemas",
    prepare: async (client, site) => {
      await register(client, site, "tree", TREE);
      return [];
    },
    run: (wire, site) => wire.hammer(32, () => collect(site, "tree", { ...tree, name: `n${fresh()}` })),
  },
  {
    name: "many problems inline",
    prepare: async (client, site) => {
      await register(client, site, "numbers", { properties: { a: { type: "array", items: { type: "integer" } } } });
      return [];
    },
    run: (wire, { sender }) => {
      const payload = { a: Array.from({ length: 25_000 }, () => "x") };
      const body = { schema_id: "numbers", timestamp: new Date().toISOString(), payload };
      wire.hammer(32, () => {
        const address = `X-Forwarded-For: 10.${fresh() % 250}.${fresh() % 250}.${fresh() % 250}\r\n`;
        return requestOf("POST", "/v1/collect?syncValidation=true", sender, body, address);
      });
    },
  },
  {
    name: "registrations",
    run: (wire, { owner }) =>
      wire.hammer(16, () => {
        const names = Array.from({ length: 700 }, (_, n) => `f${n}_${fresh()}`);
        const properties = Object.fromEntries(
          names.map((name) => [name, { type: "string", minLength: 1, maxLength: 9 }]),
        );
        return requestOf("POST", "/v1/schemas", owner, { schema: { type: "object", properties } });
      }),
  },
];
