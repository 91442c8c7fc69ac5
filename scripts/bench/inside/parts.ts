import type { Profiler } from "node:inspector";

export const PARTS = [
  "HTTP",
  "validation",
  "queue",
  "worker",
  "store",
  "graph",
  "fold",
  "commit",
  "GC",
  "rest",
] as const;
type Part = (typeof PARTS)[number];

/** Microseconds. */
export type Parts = Readonly<Record<Part, number>>;

/** By the file that a frame stands in; the first that fits. What fits none is part of whoever called it. */
const FILES: readonly (readonly [Part, RegExp])[] = [
  ["commit", /\/store\/embedded\/(database|group-commit|group-read|file\/\S+)\.js$/],
  ["queue", /\/store\/(embedded\/)?queue\/|\/core\/event\/message\.js$/],
  [
    "fold",
    /\/store\/embedded\/(events\/(fold|counts)|profiles|tallies\/\S+)\.js$|\/core\/profile\/|\/core\/schema\/extract\.js$/,
  ],
  ["store", /\/store\/(embedded\/(events|catalog|audiences|webhooks)\/|[a-z-]+\.js$)/],
  ["graph", /\/graph\//],
  ["validation", /\/commands\/acceptance\/|\/core\/(schema|json)\//],
  ["HTTP", /\/gateway\/|\/node_modules\/(express|router)\//],
  ["worker", /\/(worker|commands|keeper)\//],
];
const NATIVE: Readonly<Record<string, Part>> = { "(garbage collector)": "GC", "(program)": "rest" };
const HTTP_OF_NODE = /^node:(_http|net$|internal\/stream|internal\/js_stream)/;

/** What the samples of a profile say, without the time in which nothing ran. `waitedUs` was a commit's, and no work. */
export function partsOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile, waitedUs: number): Parts {
  const parts = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<Part, number>;
  const partOf = partOfEach(nodes);
  for (const [i, id] of samples.entries()) {
    const part = partOf.get(id);
    if (part !== undefined && part !== null) parts[part] += timeDeltas[i]!;
  }
  parts.commit = Math.max(0, parts.commit - waitedUs);
  return parts;
}

/** Null: idle. */
function partOfEach(nodes: readonly Profiler.ProfileNode[]): ReadonlyMap<number, Part | null> {
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  return new Map(
    nodes.map((node) => {
      if (node.callFrame.functionName === "(idle)") return [node.id, null];
      let ofNode: Part = NATIVE[node.callFrame.functionName] ?? "rest";
      for (let at: Profiler.ProfileNode | undefined = node; at !== undefined; at = parents.get(at.id)) {
        const { url } = at.callFrame;
        const found = FILES.find(([, files]) => files.test(url));
        if (found !== undefined) return [node.id, found[0]];
        if (HTTP_OF_NODE.test(url)) ofNode = "HTTP";
      }
      return [node.id, ofNode];
    }),
  );
}
