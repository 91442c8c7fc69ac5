import { setTimeout as sleep } from "node:timers/promises";
import type { TimeOf } from "../../core/clock.js";
import { AppError, isUnavailable } from "../../core/errors.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { UnlinkRequest } from "../../core/identity/api.js";
import type { Evidence, Rules } from "../../core/identity/model.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { GraphTransactions } from "../../core/ports/identity-graph.js";
import { readSetWith } from "../rules/read-set.js";

export interface TakeBackDeps {
  readonly graph: Pick<GraphTransactions, "read">;
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly now: TimeOf;
  /** With a deadline of its own: whoever asked for it may go before it is done. */
  readonly unlink: (
    workspace: WorkspaceId,
    asked: UnlinkRequest,
    evidence: Evidence,
    dryRun: boolean,
  ) => Promise<unknown>;
  /** Events wait no longer than this. */
  readonly eventsWaitMs: number;
  /** Told of what failed, other than `unavailable`, when no event waited for it any more. */
  readonly onLateFault: (error: unknown) => void;
}

/** An identifier that was found beyond the limit, and the key of the call that found it. */
interface Shared extends Pick<Evidence, "keyId"> {
  readonly identifier: Identifier;
}

/**
 * Unlinks shared identifiers from everybody, each once however many ask for it. The mark of one stands already, so when this ends early
 * the next assertion that names it does the rest.
 */
export function createTakeBack({ graph, rulesOf, now, unlink, eventsWaitMs, onLateFault }: TakeBackDeps) {
  const underWay = new Map<IdentifierKey, Promise<void>>();

  const takeBack = async (workspace: WorkspaceId, key: IdentifierKey, { identifier, keyId }: Shared): Promise<void> => {
    const rules = await rulesOf(workspace);
    const { identifiers } = await graph.read(workspace, readSetWith({ keys: [key], pairs: [] }, rules));
    // The limit may have been raised since.
    if ((identifiers.get(key)?.seenWith.length ?? 0) <= (rules.sharedIdentifierLimit ?? Infinity)) return;
    const evidence: Evidence = { source: "shared_identifier", keyId, at: now(workspace) };
    await unlink(workspace, { identifier }, evidence, false).catch(unlessErased);
  };

  const all = async (workspace: WorkspaceId, found: readonly Shared[]): Promise<void> => {
    const byKey = new Map(found.map((one) => [identifierKey(workspace, one.identifier), one]));
    for (const [key, one] of byKey) {
      let work = underWay.get(key);
      if (work === undefined) {
        work = takeBack(workspace, key, one).finally(() => underWay.delete(key));
        underWay.set(key, work);
      }
      await work;
    }
  };
  /**
   * The same for events, which do not wait, nor their neighbours, until a large profile is taken apart or there is room for that: where
   * they are folded is decided already.
   */
  const forEvents = async (workspace: WorkspaceId, found: readonly Shared[]): Promise<void> => {
    let isAwaited = true;
    const work = all(workspace, found).catch((error: unknown) => {
      if (isUnavailable(error)) return;
      if (isAwaited) throw error;
      onLateFault(error);
    });
    await Promise.race([work, sleep(eventsWaitMs, undefined, { ref: false })]);
    isAwaited = false;
  };
  return { all, forEvents, isUnderWay: (key: IdentifierKey): boolean => underWay.has(key) };
}

/** Nobody holds one that was erased meanwhile. */
function unlessErased(error: unknown): void {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
}
