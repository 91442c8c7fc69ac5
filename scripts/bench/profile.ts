import { fileURLToPath } from "node:url";

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const TOP = 15;
/** Nothing to do, and the profiler itself at work. */
const IDLE = new Set(["(idle)", "(root)", "dispatch"]);

/** The functions that took most of the busy time themselves, one line each, in microseconds per operation. */
export function topFunctions(profileJson: string, operations: number): readonly string[] {
  const { nodes, samples, timeDeltas } = JSON.parse(profileJson) as CpuProfile;
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]));
  const selfTime = new Map<string, number>();
  samples.forEach((id, i) => {
    const name = names.get(id) ?? "?";
    if (!IDLE.has(name)) selfTime.set(name, (selfTime.get(name) ?? 0) + (timeDeltas[i] ?? 0));
  });
  const busy = [...selfTime.values()].reduce((sum, time) => sum + time, 0);
  return [...selfTime]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, TOP)
    .map(([name, time]) => {
      const share = ((100 * time) / busy).toFixed(1).padStart(5);
      return `${(time / operations).toFixed(2).padStart(7)} µs ${share} %  ${name}`;
    });
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  if (url === "") return functionName;
  const file = url.startsWith("file:") ? fileURLToPath(url) : url;
  return `${functionName || "(anonymous)"} ${file.split("/").slice(-3).join("/")}:${lineNumber + 1}`;
}
