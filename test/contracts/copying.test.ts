import assert from "node:assert/strict";
import type { Copying, DocumentRows, GraphCopying } from "../../core/ports/copying.js";
import {
  copiedDocumentBackends,
  copiedGraphBackends,
  copiedMemberBackends,
  placeBackends,
  queueCopyingBackends,
} from "../support/copying/backends.js";
import { identifierKey } from "../../core/event/event.js";
import { newId } from "../../core/ids.js";
import { anEvent, tombOf } from "../support/builders.js";
import { runContract, type Backend } from "../support/contract.js";
import { dumpAll, loadAll, sorted } from "../support/copying/rows.js";
import { fillMembers, memberCopyingContract, ofThese } from "./copying-members.contract.js";
import { damageContract } from "./events/damage.contract.js";
import { documentCopyingContract, fillDocuments, graphCopyingContract } from "./copying.contract.js";
import { placeContract } from "./place.contract.js";
import { queueCopyingContract } from "./queue-copying.contract.js";
import { verifyGraphContract, type VerifiedGraph } from "./verify-graph.contract.js";

/** Neo4j is shared by all tests: what others stored before is not read again for each sentence. All its ids and keys begin with a time. */
function sinceNow(backend: Backend<VerifiedGraph>): Backend<VerifiedGraph> {
  if (backend.name !== "Neo4j") return backend;
  return {
    ...backend,
    place: async () => {
      const [place, began] = [await backend.place(), newId<string>()];
      const open = async (): Promise<VerifiedGraph> => {
        const port = await place.open();
        const dump: GraphCopying["dump"] = (kind, page) =>
          port.copying.dump(kind, { ...page, after: page.after ?? began });
        return { ...port, copying: { ...port.copying, dump } };
      };
      return { ...place, open };
    },
  };
}

runContract("Copying of the graph", graphCopyingContract, copiedGraphBackends);
runContract("The place of a catalog", placeContract, placeBackends);
runContract("Verifying the graph", verifyGraphContract, copiedGraphBackends.map(sinceNow));
runContract("Copying of members", memberCopyingContract, copiedMemberBackends);
runContract("Copying of the queue", queueCopyingContract, queueCopyingBackends);
runContract("Copying of the documents", documentCopyingContract, copiedDocumentBackends);
runContract("EventStore with damaged rows", damageContract, copiedDocumentBackends);

describe("Copying from one engine to another", () => {
  for (const from of copiedMemberBackends)
    for (const to of copiedMemberBackends)
      it(`${from.name} to ${to.name}: seats, feeds and marks, and what the ports answer`, async () => {
        const places = [await from.place(), await to.place()] as const;
        const [source, target] = [await places[0].open(), await places[1].open()];
        try {
          const workspaces = await fillMembers(source);
          const given = ofThese(await dumpAll(source.copying), workspaces);
          await loadAll(target.copying, given);
          await loadAll(target.copying, given);
          assert.deepEqual(sorted(ofThese(await dumpAll(target.copying, 3), workspaces)), sorted(given));
          for (const workspace of workspaces) {
            assert.deepEqual(await target.seats.feed(workspace, 0, 100), await source.seats.feed(workspace, 0, 100));
            assert.deepEqual(await target.seats.sizes(workspace), await source.seats.sizes(workspace));
            const all = { limit: 100, after: null };
            assert.deepEqual(await target.seats.due(workspace, 9, all), await source.seats.due(workspace, 9, all));
            for (const [audience] of (await source.seats.sizes(workspace)).sizes) {
              assert.deepEqual(
                await target.seats.members(workspace, audience, all),
                await source.seats.members(workspace, audience, all),
              );
            }
          }
        } finally {
          await Promise.all([source.close(), target.close()]);
          await Promise.all(places.map((place) => place.drop()));
        }
      });

  for (const from of copiedDocumentBackends)
    for (const to of copiedDocumentBackends)
      it(`${from.name} to ${to.name}: every row, and what the ports answer`, async () => {
        const places = [await from.place(), await to.place()] as const;
        const [source, target] = [await places[0].open(), await places[1].open()];
        try {
          await fillDocuments(source);
          const given = await dumpAll(source.copying);
          await loadAll(target.copying, given);
          assert.deepEqual(sorted(await dumpAll(target.copying, 3)), sorted(given));
          for (const { workspace, eventId } of given.events)
            assert.deepEqual(
              await target.events.find(workspace, eventId),
              await source.events.find(workspace, eventId),
            );
          for (const workspace of new Set(given.events.map((row) => row.workspace))) {
            const tombs = [tombOf(identifierKey(workspace, anEvent().identifiers[0]!))];
            const page = { limit: 100, after: null };
            const named = async (one: typeof source) =>
              (await one.events.naming(workspace, tombs, page)).found
                .map((naming) => JSON.stringify(naming))
                .toSorted();
            assert.deepEqual(await named(target), await named(source));
            assert.ok((await named(target)).length > 0);
          }
          const back: Copying<DocumentRows> = source.copying;
          await loadAll(back, await dumpAll(target.copying));
          assert.deepEqual(sorted(await dumpAll(back)), sorted(given));
        } finally {
          await Promise.all([source.close(), target.close()]);
          await Promise.all(places.map((place) => place.drop()));
        }
      });
});
