import { requireAnswer } from "../../../shared/client.js";
import { FOLDING } from "../../process/site.js";
import { fresh, type Flood, type FloodSite } from "../flood.js";
import { requestOf } from "../wire.js";

const now = (): string => new Date().toISOString();
const device = (value: string | number) => ({ namespace: "device_id", value: String(value) });
const user = (value: string | number) => ({ namespace: "user_id", value: String(value) });
const collect = ({ sender }: FloodSite, payload: object, headers = "", schemaId = FOLDING): string =>
  requestOf("POST", "/v1/collect", sender, { schema_id: schemaId, timestamp: now(), payload }, headers);
const identify = ({ sender }: FloodSite, ...identifiers: readonly object[]): string =>
  requestOf("POST", "/v1/identify", sender, { identifiers });

const LARGE = "x".repeat(255_000);
const TAGS = 4_000;
const AUDIENCES = 20;
/** Few people, of whom each comes to have very many events to add up. */
const JUDGED = 20;

export const WRITES: readonly Flood[] = [
  {
    name: "events of the largest size",
    run: (wire, site) =>
      wire.hammer(32, () => collect(site, { op: fresh(), user: `u${fresh() % 100}`, filler: LARGE })),
  },
  {
    name: "events that fold slowly",
    prepare: async (client, { owner: key }) => {
      const tags = { type: "array", items: { type: "string", "x-trait": { name: "tags", merge: "union" } } };
      const properties = { user: { type: "string", "x-identity": { namespace: "user_id" } }, tags };
      for (const [path, body] of [
        ["/v1/schemas", { schema_id: "tags", schema: { type: "object", properties } }],
        ["/v1/datasets", { name: "tags", schema_id: "tags", unified_profile: true }],
      ] as const)
        await requireAnswer(client, 201, { method: "POST", path, key, body });
      return [];
    },
    run: (wire, site) =>
      wire.hammer(32, () => {
        const first = fresh() * TAGS;
        const tags = Array.from({ length: TAGS }, (_, n) => `a tag of some length ${first + n}`);
        return collect(site, { user: `u${fresh() % 5}`, tags }, "", "tags");
      }),
  },
  {
    name: "events that twenty audiences judge",
    prepare: async (client, { owner: key }) => {
      for (let n = 1; n <= AUDIENCES; n += 1) {
        const events = n % 2 === 0 ? { at_least: n } : { sum: "amount", is: { $gte: n * 1_000 }, within: `${n}d` };
        const body = { name: `audience ${n}`, rule: { $events: { schema_id: FOLDING, ...events } } };
        await requireAnswer(client, 201, { method: "POST", path: "/v1/audiences", key, body });
      }
      return [];
    },
    run: (wire, site) =>
      wire.hammer(32, () => collect(site, { op: fresh(), user: `u${fresh() % JUDGED}`, amount: 1.5 })),
  },
  {
    name: "identifies of one profile",
    run: (wire, site) => wire.hammer(64, () => identify(site, user("hub"), device(fresh()))),
  },
  {
    name: "merges",
    run: (wire, site) =>
      wire.hammer(32, () => {
        const group = fresh() % 500;
        return identify(site, ...[0, 1, 2].map((n) => user(`g${(group * (n + 7)) % 2_000}`)), device(fresh()));
      }),
  },
  {
    name: "kiosks",
    prepare: async (client, { owner: key }) => {
      const path = "/v1/identity/settings";
      await requireAnswer(client, 200, { method: "PUT", path, key, body: { shared_identifier_limit: 5 } });
      const namespace = "/v1/namespaces/user_id";
      await client.send({ method: "PUT", path: namespace, key, body: { limit: 1 } });
      return [];
    },
    run: (wire, site) => wire.hammer(32, () => identify(site, device(fresh() % 50), user(fresh()))),
  },
  {
    name: "one Idempotency-Key",
    run: (wire, site) =>
      wire.hammer(32, () => collect(site, { op: fresh(), user: "u" }, `Idempotency-Key: k${fresh() % 3}\r\n`)),
  },
  {
    name: "bodies that are no JSON",
    run: (wire, { sender }) => {
      const bodies = ["[".repeat(250_000), `{"a":${'{"b":'.repeat(60)}"${"\\u00".repeat(40_000)}`];
      wire.hammer(32, () => requestOf("POST", "/v1/collect", sender, bodies[fresh() % bodies.length]));
    },
  },
];
