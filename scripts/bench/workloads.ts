import { collectBodies, identifyBody, type IdentifierPair } from "./bodies.js";
import { post, runLoad, type Supply } from "./load.js";
import type { Child, TargetName } from "./targets.js";

export type Workload = {
  readonly name: string;
  readonly target: TargetName;
  /** The workload of the same run that it is compared with. */
  readonly baseline?: string;
  /** CPU per operation, whose ratio may be `budget` at most; or operations per second, whose ratio must be `budget` at least. */
  readonly compares: "cpu" | "rate";
  /** Without it the ratio is only shown. */
  readonly budget?: number;
} & (
  | {
      /** Called before each window: makes what the window needs, and answers its requests. */
      readonly requests: (child: Child) => Promise<Supply>;
      /** One if it is left out. */
      readonly operationsPerRequest?: number;
      /** The window ends when the queue is empty. */
      readonly drains?: boolean;
      /** And when the keeper has looked at all that changed. */
      readonly rests?: boolean;
    }
  | { readonly rowBytes: number }
);

export const CONNECTIONS = 64;
const SMALL = 300;
const SIZES = [SMALL, 2_048] as const;
type Size = (typeof SIZES)[number];
const KNOWN_PEOPLE = 10_000;
/** Numbers of people that a workload has for itself: whoever is new in it must not be known from another one. */
const PEOPLE_EACH = 100_000_000;
const REPEATED_PAIRS = 1_000;
const EVENTS_PER_BATCH = 100;
const MERGES_PER_WINDOW = 4_000;

const label = (bytes: number): string => (bytes === SMALL ? "300 B" : "2 KB");
const tuned = (bytes: number): string => `tuned Express echo, ${label(bytes)}`;
const collected = (bytes: number): string => `collect until 202, ${label(bytes)}`;
const foldedOf = (bytes: number): string => `collect until folded, ${label(bytes)}`;
const published = (bytes: number): string => `raw publish and confirm, ${label(bytes)}`;

/** Fresh each run: numbers of people and identifiers go on from window to window. */
export const createWorkloads = (): readonly Workload[] => [
  ...SIZES.flatMap(yardsticks),
  ...SIZES.flatMap(collects),
  ...SIZES.map(batches("pausedService")),
  ...SIZES.map(batches("service", "folded")),
  ...identifies({ target: "service", compares: "cpu", baseline: tuned(SMALL) }),
];

/** The gateway on RabbitMQ, MongoDB and Neo4j, beside what the broker alone takes with as many in flight. */
export const createServerWorkloads = (): readonly Workload[] => [
  ...SIZES.flatMap(serverCollects),
  ...SIZES.map(batches("serverGateway")),
  ...identifies({ target: "serverGateway", compares: "cpu" }),
];

function yardsticks(bytes: Size): readonly Workload[] {
  const echo = { requests: collectRequests(bytes), compares: "cpu" } as const;
  const beside = { compares: "cpu", baseline: tuned(bytes) } as const;
  return [
    { ...echo, name: tuned(bytes), target: "tunedEcho" },
    { ...echo, ...beside, name: `stock Express echo, ${label(bytes)}`, target: "stockEcho" },
    { ...beside, name: `bare SQLite, 64 rows a commit, ${label(bytes)}`, target: "sqliteLoop", rowBytes: bytes },
  ];
}

function collects(bytes: Size): readonly Workload[] {
  const http = { requests: collectRequests(bytes), baseline: tuned(bytes), compares: "cpu" } as const;
  return [
    { ...http, name: collected(bytes), target: "pausedService", budget: 3 },
    { ...http, name: foldedOf(bytes), target: "service", drains: true, budget: 8 },
    {
      ...http,
      name: `collect until folded, with a sum and a count, ${label(bytes)}`,
      target: "summingService",
      drains: true,
      requests: collectRequests(bytes),
      baseline: foldedOf(bytes),
      budget: 1.05,
    },
    {
      ...http,
      name: `collect until folded and judged by 20 audiences, ${label(bytes)}`,
      target: "audienceService",
      drains: true,
      rests: true,
      requests: collectRequests(bytes),
      baseline: foldedOf(bytes),
      budget: 1.5,
    },
  ];
}

function serverCollects(bytes: Size): readonly Workload[] {
  const beside = { target: "serverGateway", compares: "rate", baseline: published(bytes) } as const;
  return [
    { name: published(bytes), target: "publishLoop", rowBytes: bytes, compares: "rate" },
    { ...beside, name: `collect without HTTP, ${label(bytes)}`, rowBytes: bytes, budget: 0.6 },
    // The client, the gateway and the broker share the machine here, so the ratio says most about how many cores it has.
    { ...beside, name: collected(bytes), requests: collectRequests(bytes) },
  ];
}

/** What each event of a batch costs, beside one that is sent alone. */
function batches(target: TargetName, until: "the 202" | "folded" = "the 202"): (bytes: Size) => Workload {
  return (bytes) => {
    const next = events(bytes, SIZES.length);
    const batch = (): string => `{"events":[${Array.from({ length: EVENTS_PER_BATCH }, next).join(",")}]}`;
    return {
      name: `batch of ${EVENTS_PER_BATCH} until ${until}, per event, ${label(bytes)}`,
      target,
      compares: "cpu",
      baseline: until === "folded" ? foldedOf(bytes) : collected(bytes),
      budget: 0.8,
      drains: until === "folded",
      operationsPerRequest: EVENTS_PER_BATCH,
      requests:
        async ({ key }) =>
        () =>
          post("/v1/collect/batch", key, batch()),
    };
  };
}

function collectRequests(bytes: Size): (child: Child) => Promise<Supply> {
  const next = events(bytes, 0);
  return async ({ key }) =>
    () =>
      post("/v1/collect", key, next());
}

/** One in ten is of somebody new, the others of the people seen last. `place`: of its kind of request among the workloads. */
function events(bytes: Size, place: number): () => string {
  const body = collectBodies(bytes, new Date().toISOString());
  const first = (place + SIZES.indexOf(bytes)) * PEOPLE_EACH;
  let sent = 0;
  return () => {
    const newest = Math.floor(sent / 10);
    const person = sent % 10 === 0 ? newest : Math.max(0, newest - ((sent * 7_919) % KNOWN_PEOPLE));
    sent++;
    return body(first + person);
  };
}

const identify = (key: string | null, ...identifiers: readonly IdentifierPair[]): string =>
  post("/v1/identify", key, identifyBody(...identifiers));

/** Without a baseline they are only shown. */
const identifies = (base: Pick<Workload, "target" | "compares" | "baseline">): readonly Workload[] => [
  { ...base, name: "identify, repeat", budget: 3, requests: repeats },
  { ...base, name: "identify, new pair", budget: 8, requests: newPairs() },
  { ...base, name: "identify, merge of two profiles", requests: merges() },
];

const repeat = (key: string | null, number: number): string =>
  identify(key, ["user_id", `repeat-${number}`], ["cookie_id", `repeat-${number}`]);

async function repeats(child: Child): Promise<Supply> {
  await sendAll(child, REPEATED_PAIRS, (number) => repeat(child.key, number));
  const requests = Array.from({ length: REPEATED_PAIRS }, (_, number) => repeat(child.key, number));
  let sent = 0;
  return () => requests[sent++ % REPEATED_PAIRS]!;
}

function newPairs(): (child: Child) => Promise<Supply> {
  let sent = 0;
  return async ({ key }) => {
    return () => identify(key, ["user_id", `new-${++sent}`], ["cookie_id", `new-${sent}`]);
  };
}

/** Each window gets profiles of its own to merge, made before it is measured: a merge happens once. */
function merges(): (child: Child) => Promise<Supply> {
  let made = 0;
  return async (child) => {
    const first = made;
    made += MERGES_PER_WINDOW;
    const single = (namespace: string) => (number: number) => identify(child.key, [namespace, `m-${first + number}`]);
    await sendAll(child, MERGES_PER_WINDOW, single("user_id"));
    await sendAll(child, MERGES_PER_WINDOW, single("cookie_id"));
    let next = first;
    return () => {
      if (next === made) return null;
      const value = `m-${next++}`;
      return identify(child.key, ["user_id", value], ["cookie_id", value]);
    };
  };
}

async function sendAll({ port }: Child, count: number, request: (number: number) => string): Promise<void> {
  let sent = 0;
  const supply: Supply = () => (sent < count ? request(sent++) : null);
  await runLoad({ port, connections: CONNECTIONS, seconds: Number.POSITIVE_INFINITY }, supply);
}
