export interface Line {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Beyond it two texts are shown one after the other. */
const CELLS_MAX = 4_000_000;

/** What changed from one text to the other, line by line: the longest common part stays. */
export function diff(before: string, after: string): readonly Line[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  if (a.length * b.length > CELLS_MAX)
    return [
      ...a.map((text) => ({ kind: "removed", text }) as const),
      ...b.map((text) => ({ kind: "added", text }) as const),
    ];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i]! });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      lines.push({ kind: "removed", text: a[i]! });
      i += 1;
    } else {
      lines.push({ kind: "added", text: b[j]! });
      j += 1;
    }
  }
  return lines;
}

export interface Folded {
  readonly kind: Line["kind"] | "folded";
  readonly text: string;
}

const CONTEXT = 3;

/** What is the same, far from any change, is one line that says how much it is. */
export function foldSame(lines: readonly Line[]): readonly Folded[] {
  const isNear = lines.map((_, i) => lines.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some(isChange));
  const folded: Folded[] = [];
  for (let i = 0; i < lines.length;) {
    if (isNear[i] === true) {
      folded.push(lines[i++]!);
      continue;
    }
    const from = i;
    while (i < lines.length && isNear[i] === false) i += 1;
    const many = i - from;
    folded.push(many === 1 ? lines[from]! : { kind: "folded", text: `${many} lines are the same` });
  }
  return folded;
}

const isChange = ({ kind }: Line): boolean => kind !== "same";
