const BAR_WIDTH = 30;
const REDRAW_MS = 100;
const LINE_MS = 2_000;

/** Shows how far something is: a bar that moves on a terminal, a plain line now and then elsewhere. */
export function createProgress(out: NodeJS.WriteStream): (done: number, total: number, what: string) => void {
  const period = out.isTTY ? REDRAW_MS : LINE_MS;
  let shownAt = Date.now();
  return (done, total, what) => {
    const isLast = done === total;
    if (!isLast && Date.now() - shownAt < period) return;
    shownAt = Date.now();
    const text = `${done.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} ${what}`;
    const filled = Math.round((BAR_WIDTH * done) / total);
    const bar = `[${"=".repeat(filled)}${" ".repeat(BAR_WIDTH - filled)}]`;
    out.write(out.isTTY ? `\r${bar} ${text}${isLast ? "\n" : ""}` : `${text}\n`);
  };
}
