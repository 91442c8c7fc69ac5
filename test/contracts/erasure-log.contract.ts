import assert from "node:assert/strict";
import type { Buried, Erasure } from "../../core/identity/erasure.js";
import {
  newId,
  type ErasureId,
  type KeyId,
  type ProfileId,
  type Tomb,
  type Uid,
  type WorkspaceId,
} from "../../core/ids.js";
import type { LoggedErasure } from "../../core/identity/logged-erasure.js";
import type { ErasureLog } from "../../core/ports/erasure-log.js";
import type { Contract } from "../support/contract.js";

/** A log has nothing to close of its own: its place has. */
export interface ClosableLog extends ErasureLog {
  close(): Promise<void>;
}

const record = (parts: Partial<Erasure> = {}): Erasure => ({
  workspace: newId<WorkspaceId>(),
  erasureId: newId<ErasureId>(),
  erasedAt: 1_000,
  keyId: "key0000007" as KeyId,
  profileId: newId<ProfileId>(),
  identifiers: new Map([
    ["email", 2],
    ["__proto__", 1],
  ]),
  suppress: true,
  readmittedAt: null,
  links: 0,
  changes: 0,
  isGone: false,
  rev: 0,
  removed: {},
  cursor: null,
  late: { events: 0, lastAt: null },
  completedAt: null,
  ...parts,
});

const buried = (count: number): readonly Buried[] =>
  Array.from({ length: count }, (_, n) => ({ tomb: `tomb${n}` as Tomb, uid: n % 2 === 0 ? newId<Uid>() : null }));

async function entriesOf(log: ErasureLog): Promise<readonly LoggedErasure[]> {
  const entries: LoggedErasure[] = [];
  for await (const entry of log.entries()) entries.push(entry);
  return entries;
}

export const erasureLogContract: Contract<ClosableLog> = {
  "answers nothing while nothing was kept": async ({ port }) => {
    assert.deepEqual(await entriesOf(port), []);
  },

  "answers what was kept, in that order, across close and reopen": async ({ port, reopen }) => {
    const given: LoggedErasure[] = [];
    // More than one read of any backend.
    for (let n = 0; n < 250; n += 1) {
      given.push({ erasure: record(), buried: buried(n % 3) });
      await port.append(given[n]!);
    }
    assert.deepEqual(await entriesOf(port), given);
    assert.deepEqual(await entriesOf(await reopen()), given);
  },

  "keeps the parts of one erasure, and its record as it was each time": async ({ port }) => {
    const erasure = record({ suppress: true });
    const given = [
      { erasure, buried: buried(3) },
      { erasure, buried: buried(2) },
      { erasure: { ...erasure, readmittedAt: 2_000 }, buried: [] },
    ];
    for (const one of given) await port.append(one);
    assert.deepEqual(await entriesOf(port), given);
  },

  "answers an erasure as one that has removed nothing yet: the stores may be older than it": async ({ port }) => {
    const erasure = record();
    const after = {
      links: 4,
      changes: 2,
      isGone: true,
      rev: 3,
      removed: { events: 7 },
      cursor: "x",
      completedAt: 5_000,
    };
    await port.append({ erasure: { ...erasure, ...after, late: { events: 1, lastAt: 9 } }, buried: [] });
    assert.deepEqual(await entriesOf(port), [{ erasure, buried: [] }]);
  },

  "keeps what many say at once": async ({ port }) => {
    const given = Array.from({ length: 40 }, () => ({ erasure: record(), buried: buried(50) }));
    await Promise.all(given.map((one) => port.append(one)));
    const ids = (entries: readonly LoggedErasure[]): readonly string[] =>
      entries.map(({ erasure }) => erasure.erasureId).toSorted();
    assert.deepEqual(ids(await entriesOf(port)), ids(given));
  },
};
