import type { Batch } from "./batches.js";
import { isObject, textOf, type JsonObject } from "./json-lines.js";

/** More would fill the memory. */
const USERS_MAX = 200_000;

/**
 * When the service accepts an alias it decides for good what the previous id is, and does not see calls that still wait in its queue. So
 * what is answered is called before each batch is sent: it waits if the batch has an alias of a user whom an earlier one may have made
 * known. Earlier calls of the same batch the service sees itself.
 */
export function createAliasOrder(
  wait: () => Promise<void>,
  usersMax: number = USERS_MAX,
): (batch: Pick<Batch, "items">) => Promise<void> {
  /** Whom batches have named since the last wait; null: anybody, as before the first one, when an earlier import may still wait. */
  let users: Set<string> | null = null;
  return async ({ items }) => {
    const calls = items.map(({ text }) => JSON.parse(text) as unknown).filter(isObject);
    const isLate = calls.some((call) => {
      const previous = call["type"] === "alias" ? userIn(call["previousId"]) : null;
      return previous !== null && (users === null || users.has(previous));
    });
    if (isLate) {
      await wait();
      users = new Set();
    }
    for (const user of users === null ? [] : calls.flatMap(usersIn)) users?.add(user);
    if (users !== null && users.size > usersMax) users = null;
  };
}

function usersIn(call: JsonObject): readonly string[] {
  const context = isObject(call["context"]) ? call["context"] : {};
  const lists: readonly unknown[] = [context["externalIds"], context["externalId"]];
  const external = lists.flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  const ids = external.flatMap((one) => (isObject(one) && one["type"] === "user_id" ? [one["id"]] : []));
  return [call["userId"], ...ids].map(userIn).filter((user) => user !== null);
}

/** A namespace may count several spellings as one. */
const userIn = (value: unknown): string | null => textOf(value)?.trim().toLowerCase() ?? null;
