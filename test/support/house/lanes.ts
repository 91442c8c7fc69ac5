/** `PART=2/3` runs the second of every three rows; without it all run. */
const [PART = 1, PARTS = 1] = (process.env["PART"] ?? "1/1").split("/").map(Number);

/** Whether this part takes the second and later way of something that always runs one way: the parts take such ways in turn. */
export const takesWay = (way: number): boolean => way % PARTS === PART - 1;

/**
 * One test for each row of this part, and so many rows at a time: most of a row is waiting for a process to start. A row's own test tells how it
 * ended.
 */
export function inLanes<Row extends { readonly title: string }>(
  all: readonly Row[],
  lanes: number,
  run: (row: Row) => Promise<void>,
): void {
  const rows = all.filter((_, index) => index % PARTS === PART - 1);
  const outcomes: Promise<void>[] = [];

  before(() => {
    for (const [index, row] of rows.entries()) {
      const start = () => run(row);
      const outcome = (outcomes[index - lanes] ?? Promise.resolve()).then(start, start);
      // Its own test tells; until then a failure is no accident.
      outcome.catch(() => {});
      outcomes.push(outcome);
    }
  });

  for (const [index, { title }] of rows.entries()) it(title, () => outcomes[index]);
}
