/** Positions from one to the other, both included. */
export type Range = readonly [from: number, to: number];

/**
 * The ranges of positions up to `last` that can be read, in their order. A damaged page holds positions that follow each other: where
 * it begins is found by halving, and where it ends by steps that double. Of what stands between two damaged pages some may be missed.
 */
export function readableRanges(isReadable: (range: Range) => boolean, last: number): readonly Range[] {
  const ranges: Range[] = [];
  for (let from: number | null = 0; from !== null && from <= last;) {
    const start: number = from;
    const end = lastWhere(start - 1, last, (to) => isReadable([start, to]));
    if (end >= start) ranges.push([start, end]);
    from = firstBehind(end + 1, last, (seq) => isReadable([seq, seq]));
  }
  return ranges;
}

/** What lies between the ranges, and behind them. */
export function gapsBetween(ranges: readonly Range[], last: number): readonly Range[] {
  const starts = [0, ...ranges.map(([, to]) => to + 1)];
  const ends = [...ranges.map(([from]) => from - 1), last];
  return starts.flatMap((from, index) => (from <= ends[index]! ? [[from, ends[index]!] as const] : []));
}

/** The last number for which `holds`, where it holds up to some number and for none behind; it does for `low`. */
function lastWhere(low: number, high: number, holds: (number: number) => boolean): number {
  if (high <= low || holds(high)) return Math.max(low, high);
  let [yes, no] = [low, high];
  while (no - yes > 1) {
    const middle = Math.floor((yes + no) / 2);
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

/** The first position behind a damaged one that can be read; null if none is found. */
function firstBehind(damaged: number, last: number, isReadable: (seq: number) => boolean): number | null {
  let before = damaged;
  for (let step = 1; before < last; step *= 2) {
    const seq = Math.min(damaged + step, last);
    if (isReadable(seq)) return lastWhere(before, seq, (at) => at < seq && !isReadable(at)) + 1;
    before = seq;
  }
  return null;
}
