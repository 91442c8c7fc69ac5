import type { Database } from "../../../core/database.js";
import type { CopyPage, MessageRow, QueueCopying } from "../../../core/ports/copying.js";
import { copied } from "./copy.js";
import { messagesOf } from "../messages.js";
import { nextTurn } from "../session.js";

const MESSAGES_PER_PAGE = 500;

/** The queue's table, while no queue is open on it. */
export function createEmbeddedQueueCopying(database: Database): QueueCopying {
  const pageOf = (columns: string) =>
    database.prepare(`SELECT ${columns} FROM queue JOIN messages USING (seq) WHERE seq > ? ORDER BY seq LIMIT ?`);
  const [page, sizes] = [pageOf("seq, message, attempts, failed_at, crashes"), pageOf("octet_length(message)")];
  const messages = messagesOf(database);
  const add = database.prepare("INSERT INTO queue (seq, attempts, failed_at, crashes) VALUES (?, ?, ?, ?)");
  const clear = [
    "DELETE FROM messages WHERE seq IN (SELECT seq FROM queue) AND NOT EXISTS (SELECT 1 FROM events WHERE events.seq = messages.seq)",
    "DELETE FROM queue",
  ].map((sql) => database.prepare(sql));
  const count = database.prepare("SELECT count(*) FROM queue");
  return {
    messages: async function* () {
      for (let after: string | null = null; ;) {
        await nextTurn();
        const place: CopyPage = { limit: MESSAGES_PER_PAGE, after };
        const { rows, next } = database.read(() => copied(page, sizes, place, toRow));
        if (rows.length > 0) yield rows;
        if (next === null) return;
        after = next;
      }
    },
    load: (rows) =>
      database.write(() => {
        for (const { message, attempts, failedAt, crashes } of rows) {
          const seq = messages.next();
          messages.insert([[seq, message]]);
          add.run([seq, attempts, failedAt, crashes]);
        }
      }),
    clear: () => database.write(() => clear.forEach((statement) => statement.run([]))),
    count: async () => database.read(() => count.get([])![0] as number),
    close: async () => undefined,
  };
}

function toRow(row: readonly unknown[]): MessageRow {
  const [, message, attempts, failedAt, crashes] = row as readonly [number, Buffer, number, number | null, number];
  return { message, attempts, failedAt, crashes };
}
