import type { Database } from "../../core/database.js";
import type { ChangeId } from "../../core/ids.js";
import type { KeyPair, Plan } from "../../core/identity/model.js";
import { prepareInsert } from "./insert.js";
import { existing, requireOne, type Seats } from "./locations.js";

/** Writes links. The conditions hold a plan to what it takes for granted: that a link stands, or was taken back. */
export function prepareLinkWriter(database: Database) {
  const insert = prepareInsert(database, "INTO links (forward, change, a, b)", 4);
  const revive = database.prepare(
    `UPDATE links SET forward = ?, change = ?, by_change = NULL, removed_at = NULL
     WHERE a = ? AND b = ? AND removed_at IS NOT NULL`,
  );
  const remove = database.prepare(
    "UPDATE links SET removed_at = ?, by_change = ? WHERE a = ? AND b = ? AND removed_at IS NULL",
  );
  const restore = database.prepare(
    "UPDATE links SET removed_at = NULL, by_change = ? WHERE a = ? AND b = ? AND removed_at IS NOT NULL",
  );

  return ({ links, removes, restores }: Plan, seats: Seats, changes: ReadonlyMap<ChangeId, Buffer>): void => {
    const endsOf = ([x, y]: KeyPair) => {
      const [from, to] = [seats.require(x).row, seats.require(y).row];
      return from < to ? { isForward: 1, ends: [from, to] } : { isForward: 0, ends: [to, from] };
    };
    const changeOf = (changeId: ChangeId): Buffer => existing(changes.get(changeId), "change");
    const rowsOf = (all: Plan["links"]) =>
      all.map(({ from, to, changeId }) => {
        const { isForward, ends } = endsOf([from, to]);
        return [isForward, changeOf(changeId), ...ends];
      });
    insert(rowsOf(links.filter(({ revives }) => !revives)));
    for (const row of rowsOf(links.filter(({ revives }) => revives))) requireOne(revive.run(row), "link");
    for (const { pair, changeId, at } of removes)
      requireOne(remove.run([at, changeOf(changeId), ...endsOf(pair).ends]), "link");
    for (const { pair, changeId } of restores)
      requireOne(restore.run([changeOf(changeId), ...endsOf(pair).ends]), "link");
  };
}
