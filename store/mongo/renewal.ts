import { setTimeout as sleep } from "node:timers/promises";
import type { MongoClient } from "mongodb";
import { AppError } from "../../core/errors.js";

interface RenewalOptions {
  /** Longer than any heartbeat and any call that still ends, milliseconds. */
  readonly hungMs: number;
  /** Called before each renewal. */
  readonly onRenew: () => void;
}

export interface Renewal {
  /** True from its begin until the new connections stand. Nothing may be called meanwhile. */
  isUnderWay(): boolean;
  /**
   * The same promise; one that does not settle shows that the driver hangs. Rejects with `unavailable` what a renewal met: a read whose
   * connection is closed ends early, as if there were no more.
   */
  watch<T>(call: Promise<T>): Promise<T>;
  /** Resolves when no renewal is under way, and none will begin. */
  stop(): Promise<void>;
}

/** Hung is what was quiet for all of these looks: a process that was stopped for a minute looks once, and hears its driver before the next. */
const LOOKS = 10;
const CLOSE_MS = 5_000;

/** What the driver shows to nobody: without it, `connect` keeps what `close` could not end. */
interface Inside {
  topology?: { close(): void } | undefined;
}

/**
 * Connects anew where the driver hangs. What the driver (7.8.0) writes to a socket that has ended, but whose end it has not been told
 * yet, it waits for ever to have written. If a heartbeat does that, the server stays unknown also when it is back; a call keeps its
 * place in the pool. Collections that were opened before work on through the new connections.
 */
export function renewWhereHung(client: MongoClient, { hungMs, onRenew }: RenewalOptions): Renewal {
  /** Looks since something was heard: from each server, and from each call. */
  const servers = new Map<string, number>();
  const calls = new Map<Promise<unknown>, number>();
  client.on("serverHeartbeatSucceeded", ({ connectionId }) => servers.set(connectionId, 0));
  client.on("serverHeartbeatFailed", ({ connectionId }) => servers.set(connectionId, 0));
  // A load balancer is sent no heartbeats.
  if (!client.options.loadBalanced) client.on("serverOpening", ({ address }) => servers.set(address, 0));
  client.on("serverClosed", ({ address }) => servers.delete(address));
  let isConnected = true;
  let renewals = 0;
  let renewing: Promise<void> | null = null;

  const renew = async (): Promise<void> => {
    if (isConnected) {
      onRenew();
      calls.clear();
      renewals += 1;
      isConnected = false;
      await closeFor(client, CLOSE_MS);
    }
    await client.connect();
    isConnected = true;
  };
  const look = (): void => {
    if (renewing !== null) return;
    // A close that ended late took the new connections with it.
    if (isConnected && isLost(client)) isConnected = false;
    for (const quiet of [servers, calls] as const) countIn(quiet);
    if (isConnected && !isHung(servers) && !isHung(calls)) return;
    // While no server answers, the next look tries again.
    renewing = renew()
      .catch(() => {})
      .finally(() => (renewing = null));
  };
  const timer = setInterval(look, hungMs / LOOKS).unref();
  return {
    isUnderWay: () => !isConnected,
    watch: async (call) => {
      calls.set(call, 0);
      const before = renewals;
      const settled = await call.then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error;
        },
      );
      calls.delete(call);
      if (renewals !== before) throw new AppError("unavailable", "The database is connected to anew.");
      return settled();
    },
    stop: async () => {
      clearInterval(timer);
      await renewing;
    },
  };
}

/** A close may wait for what hangs, and each later one for that close. */
export async function closeFor(client: MongoClient, limitMs: number): Promise<void> {
  const stop = new AbortController();
  const isClosed = await Promise.race([
    client.close().then(
      () => true,
      () => false,
    ),
    sleep(limitMs, false, { signal: stop.signal }),
  ]);
  stop.abort();
  if (isClosed) return;
  const inside = client as unknown as Inside;
  inside.topology?.close();
  inside.topology = undefined;
}

const isLost = (client: MongoClient): boolean => (client as unknown as Inside).topology === undefined;

function countIn(quiet: Map<unknown, number>): void {
  for (const [key, looks] of quiet) quiet.set(key, looks + 1);
}

const isHung = (quiet: ReadonlyMap<unknown, number>): boolean => [...quiet.values()].some((looks) => looks > LOOKS);
