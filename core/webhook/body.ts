import { entryJson } from "../audience/entry-json.js";
import type { Entry } from "../audience/seat.js";
import type { Batch, Webhook } from "./webhook.js";

interface Numbered {
  readonly seq: number;
  readonly entry: Entry;
}

export const bodyOf = ({ webhookId }: Webhook, { first, last }: Batch, entries: readonly Numbered[]): string =>
  JSON.stringify({
    webhook_id: webhookId,
    first_seq: first,
    last_seq: last,
    entries: entries.map(({ seq, entry }) => entryJson(seq, entry)),
  });

/** No batch has the same. */
export const testId = ({ webhookId }: Webhook, at: number): string => `${webhookId}:test:${at}`;

/** The same for each try of a batch, and another one when it is told anew because somebody set the webhook back. */
export const messageId = ({ webhookId, replays }: Webhook, { first }: Batch): string =>
  `${webhookId}:${first}${replays === 0 ? "" : `:${replays}`}`;
