import { crc32 } from "node:zlib";
import type { Connection } from "rabbitmq-client";
import { pinnedFacetIn } from "../../core/event/message.js";
import { isMissing } from "./codes.js";

export const PARTITIONS_MAX = 16;

/** The names do not say how many there are, so a worker finds those of any number. */
export const partitionOf = (name: string, index: number): string => `${name}.p${index}`;

/** All that there can be. */
export const partitionsOf = (name: string): readonly string[] =>
  Array.from({ length: PARTITIONS_MAX }, (_, index) => partitionOf(name, index));

/** The place of a message among so many: events of one facet have one place, so that one worker at a time folds them. */
export const placeOf = (message: Buffer, count: number): number => crc32(pinnedFacetIn(message)) % count;

/** Those that stand, from the first on. On a channel of its own, which the broker closes when one is missing. */
export async function findPartitions(connection: Connection, name: string): Promise<readonly string[]> {
  const channel = await connection.acquire();
  const found: string[] = [];
  try {
    for (const queue of partitionsOf(name)) {
      await channel.queueDeclare({ queue, passive: true });
      found.push(queue);
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  } finally {
    await channel.close();
  }
  return found;
}
