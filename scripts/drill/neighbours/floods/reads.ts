import { randomUUID } from "node:crypto";
import { each } from "../../../shared/async.js";
import { requireAnswer, type Client } from "../../../shared/client.js";
import { FOLDING } from "../../process/site.js";
import { cycle, type Flood, type FloodSite } from "../flood.js";
import { requestOf } from "../wire.js";

const WIDTH = 20;
const IDENTIFIERS_MAX = 20;
const now = (): string => new Date().toISOString();
const device = (value: string) => ({ namespace: "device_id", value });
const user = (value: string) => ({ namespace: "user_id", value });

const range = (length: number): readonly number[] => Array.from({ length }, (_, n) => n);

async function profileOf(client: Client, { owner: key }: FloodSite, identifier: object): Promise<string> {
  const path = "/v1/profiles/lookup?wait=10";
  const request = { method: "POST", path, key, body: { identifiers: [identifier] } } as const;
  type Found = { readonly profiles: readonly { readonly profile_id: string }[] };
  return (await requireAnswer<Found>(client, 200, request)).profiles[0]!.profile_id;
}

const identify = (client: Client, { owner: key }: FloodSite, identifiers: readonly object[]) =>
  requireAnswer(client, 200, { method: "POST", path: "/v1/identify", key, body: { identifiers } });

/** A profile with so many devices beside its user. */
async function largeProfile(client: Client, site: FloodSite, name: string, devices: number): Promise<void> {
  const groups = range(Math.ceil(devices / (IDENTIFIERS_MAX - 1)));
  await each(groups, WIDTH, async (group) => {
    const ones = range(IDENTIFIERS_MAX - 1).map((n) => device(`${name}-${group}-${n}`));
    await identify(client, site, [user(name), ...ones]);
  });
}

async function collect(client: Client, { owner: key }: FloodSite, payload: object): Promise<void> {
  const body = { schema_id: FOLDING, timestamp: now(), payload };
  await requireAnswer(client, 202, { method: "POST", path: "/v1/collect", key, body });
}

/** A profile with forty events of 250 KB; answers the page of its events. */
async function largeEvents(client: Client, site: FloodSite): Promise<readonly string[]> {
  const filler = "x".repeat(250_000);
  await each(range(40), 4, (op) => collect(client, site, { op, user: "large", filler }));
  return [`/v1/profiles/${await profileOf(client, site, user("large"))}/events`];
}

export const READS: readonly Flood[] = [
  {
    name: "pipelined pages",
    prepare: largeEvents,
    run: (wire, { viewer }, [page]) => wire.sendAndStall(3, requestOf("GET", page!, viewer).repeat(350)),
  },
  {
    name: "stalled readers",
    prepare: largeEvents,
    run: (wire, { viewer }, [page]) => wire.sendAndStall(300, requestOf("GET", page!, viewer)),
  },
  {
    name: "large pages",
    prepare: largeEvents,
    run: (wire, { viewer }, [page]) => wire.hammer(32, () => requestOf("GET", page!, viewer)),
  },
  {
    name: "huge look-ups",
    prepare: async (client, site) => {
      await each(range(100), 4, (n) => largeProfile(client, site, `h${n}`, 95));
      return [];
    },
    run: (wire, { viewer }) => {
      const body = { identifiers: range(100).map((n) => user(`h${n}`)) };
      const request = requestOf("POST", "/v1/profiles/lookup", viewer, body);
      wire.hammer(32, () => request);
    },
  },
  {
    name: "timelines of many identifiers",
    prepare: async (client, site) => {
      await largeProfile(client, site, "wide", 3_800);
      await each(range(200), WIDTH, (op) => collect(client, site, { op, user: "wide" }));
      return [`/v1/profiles/${await profileOf(client, site, user("wide"))}`];
    },
    run: (wire, { viewer }, [profile]) => {
      const next = cycle(
        ["", "/events?limit=100", "/graph?limit=100", "/history"].map((path) =>
          requestOf("GET", `${profile!}${path}`, viewer),
        ),
      );
      wire.hammer(32, next);
    },
  },
  {
    name: "long explains",
    prepare: async (client, site) => {
      await each(range(2_000), WIDTH, async (n) => {
        await identify(client, site, [device(`c${n}`), device(`c${n + 1}`)]);
      });
      return [];
    },
    run: (wire, { viewer }) => {
      const body = { from: device("c0"), to: device("c2000") };
      const request = requestOf("POST", "/v1/identity/explain", viewer, body);
      wire.hammer(16, () => request);
    },
  },
  {
    name: "large undos",
    prepare: async (client, site) => {
      await largeProfile(client, site, "hub", 950);
      return [];
    },
    run: (wire, { owner }) => {
      const undo = requestOf("POST", "/v1/identity/unlink", owner, { identifier: user("hub") });
      const links = range(50).map((group) => {
        const identifiers = [user("hub"), ...range(19).map((n) => device(`hub-${group}-${n}`))];
        return requestOf("POST", "/v1/identify", owner, { identifiers });
      });
      wire.hammer(8, cycle([undo, ...links]));
    },
  },
  {
    name: "waiting reads",
    run: (wire, { viewer }) => wire.hammer(300, () => requestOf("GET", `/v1/events/${randomUUID()}?wait=10`, viewer)),
  },
  {
    name: "lists of dead letters and changes",
    prepare: async (client, site) => {
      await each(range(200), WIDTH, async (n) => {
        await identify(
          client,
          site,
          range(IDENTIFIERS_MAX).map((m) => device(`${n}-${m}-${"x".repeat(900)}`)),
        );
      });
      return [];
    },
    run: (wire, { owner }) => {
      const lists = ["/v1/dead-letters?limit=100", "/v1/changes?limit=100"];
      wire.hammer(32, cycle(lists.map((list) => requestOf("GET", list, owner))));
    },
  },
];
