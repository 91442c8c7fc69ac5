/** Who waits how long before it tries a request again that was refused with 429. */
type Patience =
  /** As long as `Retry-After` says. */
  | { readonly kind: "told" }
  /** For so many seconds at least before each further attempt, whatever the header says. */
  | { readonly kind: "own"; readonly seconds: readonly number[] }
  /** As briefly as its options say, and gives up after so many attempts. */
  | { readonly kind: "gives up"; readonly attempts: number };

/** One SDK as its makers ship it, and what is known of its habits. */
export interface Sdk {
  /** The folder of its program. */
  readonly name: string;
  readonly language: "node" | "python" | "go" | "java" | "browser";
  /** What the program loads, where one program serves several SDKs. */
  readonly loads: string;
  /** Options that change what goes over the wire: each kind of call is sent with each of these. */
  readonly wires: readonly object[];
  /** Options under which it gives up within a minute, or in a quick run within seconds. */
  readonly hasty: object;
  readonly quick: object;
  /** Attempts at a request that is refused with 400, 401 or 413. */
  readonly attemptsAtRefused: number;
  readonly patience: Patience;
}

const COMMON = {
  loads: "",
  wires: [{}],
  hasty: {},
  quick: {},
  attemptsAtRefused: 1,
  patience: { kind: "told" },
} as const;
const GO = {
  ...COMMON,
  language: "go",
  quick: { retryMs: 50 },
  attemptsAtRefused: 10,
  patience: { kind: "gives up", attempts: 10 },
} as const;
const JAVA = { ...COMMON, language: "java", patience: { kind: "own", seconds: [15] } } as const;
const BATCHING = { "Segment.io": { deliveryStrategy: { strategy: "batching", config: { size: 10, timeout: 300 } } } };
const BEACON = { useBeacon: true, beaconQueueOptions: { flushQueueInterval: 300 } };

/** Those that take longest stand first. */
export const SDKS: readonly Sdk[] = [
  {
    ...COMMON,
    name: "rudder-browser",
    language: "browser",
    loads: "rudder",
    wires: [{}, BEACON],
    patience: { kind: "own", seconds: [2, 4, 8] },
  },
  {
    ...COMMON,
    name: "segment-browser",
    language: "browser",
    loads: "segment",
    wires: [{}, { integrations: BATCHING }],
  },
  { ...JAVA, name: "segment-java" },
  { ...JAVA, name: "rudder-java" },
  {
    ...COMMON,
    name: "segment-python",
    language: "python",
    loads: "segment.analytics.client",
    wires: [{}, { gzip: true }],
  },
  {
    ...COMMON,
    name: "rudder-python",
    language: "python",
    loads: "rudderstack.analytics.client",
    hasty: { maxRetries: 3 },
    patience: { kind: "gives up", attempts: 4 },
  },
  { ...COMMON, name: "segment-node", language: "node" },
  { ...COMMON, name: "rudder-node", language: "node", wires: [{}, { gzip: false }] },
  { ...GO, name: "segment-go" },
  { ...GO, name: "rudder-go" },
];

export const sdkOf = (name: string): Sdk => {
  const found = SDKS.find((sdk) => sdk.name === name);
  if (found === undefined) throw new Error(`${name}: there is ${SDKS.map((sdk) => sdk.name).join(", ")}`);
  return found;
};
