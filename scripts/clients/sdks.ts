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
  /** Options of the SDK under which it gives up soon. */
  readonly hasty: object;
  /** Attempts at a request that is refused with 400, 401 or 413. */
  readonly attemptsAtRefused: number;
  readonly patience: Patience;
}

const GO = { attemptsAtRefused: 10, patience: { kind: "gives up", attempts: 10 }, hasty: { retryMs: 50 } } as const;
const JAVA = { attemptsAtRefused: 1, patience: { kind: "own", seconds: [15] }, hasty: {} } as const;
const TOLD = { attemptsAtRefused: 1, patience: { kind: "told" } } as const;

export const SDKS: readonly Sdk[] = [
  { name: "segment-node", language: "node", loads: "", hasty: { maxRetries: 3 }, ...TOLD },
  { name: "segment-python", language: "python", loads: "segment.analytics.client", hasty: { maxRetries: 3 }, ...TOLD },
  { name: "segment-go", language: "go", loads: "", ...GO },
  { name: "segment-java", language: "java", loads: "", ...JAVA },
  { name: "segment-browser", language: "browser", loads: "segment", hasty: {}, ...TOLD },
  { name: "rudder-node", language: "node", loads: "", hasty: { retryCount: 3 }, ...TOLD },
  {
    name: "rudder-python",
    language: "python",
    loads: "rudderstack.analytics.client",
    hasty: { maxRetries: 3 },
    attemptsAtRefused: 1,
    patience: { kind: "gives up", attempts: 4 },
  },
  { name: "rudder-go", language: "go", loads: "", ...GO },
  { name: "rudder-java", language: "java", loads: "", ...JAVA },
  {
    name: "rudder-browser",
    language: "browser",
    loads: "rudder",
    hasty: {},
    attemptsAtRefused: 1,
    patience: { kind: "own", seconds: [2, 4, 8] },
  },
];

export const sdkOf = (name: string): Sdk => {
  const found = SDKS.find((sdk) => sdk.name === name);
  if (found === undefined) throw new Error(`${name}: there is ${SDKS.map((sdk) => sdk.name).join(", ")}`);
  return found;
};
