import type { Collection, Filter, IndexDescription } from "mongodb";
import { identifierKey, isFolding, type EventRecord, type Identifier } from "../../../core/event/event.js";
import { decodeMessage } from "../../../core/event/message.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { DeadLetter, EventStore, Naming } from "../../../core/ports/event-store.js";
import { readArrival } from "../../arrivals.js";
import { DAMAGED, orDamaged } from "../../stored-event.js";
import { idIn, ownId } from "../own-id.js";
import type { Session } from "../session.js";
import { slicesOf } from "./batches.js";
import { toLetter, type DeadLetterDocument } from "./dead-letters.js";
import { eventIdIn, fromDocument, instantIn, STORED, type EventDocument } from "./documents.js";

/** By id within a name, so that a page is merged from its names and not sorted out of all that they have. Partial: what folds is found by its facet. */
export const NAME_INDEXES: readonly IndexDescription[] = [
  { name: "named", key: { names: 1, _id: 1 }, partialFilterExpression: { names: { $exists: true } } },
];

const PER_CALL = 500;
const WITH_PLACE = { ...STORED, position: 1, arrival: 1 } as const;

/** Who is named by what no facet leads to; nothing for what a facet does, or that names nobody. */
export function createNamesOf(tombOf: TombOf) {
  const own = (workspace: WorkspaceId, identifiers: readonly Identifier[]): { readonly names?: readonly string[] } =>
    identifiers.length === 0
      ? {}
      : { names: identifiers.map((one) => ownId(workspace, tombOf(identifierKey(workspace, one)))) };
  return {
    ofEvent: (event: EventRecord) => own(event.workspace, isFolding(event) ? [] : event.identifiers),
    ofLetter: ({ workspace, message }: DeadLetter) => {
      if (workspace === null) return {};
      const decoded = decodeMessage(message);
      const isOwn = decoded.kind === "event" && decoded.event.workspace === workspace;
      return isOwn ? own(workspace, decoded.event.identifiers) : {};
    },
  };
}
export type NamesOf = ReturnType<typeof createNamesOf>;

/** Positions of events come before those of letters. */
const [EVENTS, LETTERS] = ["event:", "letter:"];

function namingOf(workspace: WorkspaceId, one: EventDocument): Naming {
  const event = orDamaged(() => fromDocument(workspace, one));
  if (event !== DAMAGED) return { kind: "event", event };
  const { position, arrival } = one;
  return { kind: "damaged", effectiveTs: instantIn(position), ...readArrival(idIn(arrival)) };
}

export function createNames(
  collections: {
    readonly events: Collection<EventDocument>;
    readonly letters: Collection<DeadLetterDocument>;
  },
  session: Session,
): Pick<EventStore, "naming" | "removeLetters" | "foldedInto"> {
  const { events, letters } = collections;

  return {
    naming: async (workspace, tombs, { limit, after }) => {
      session.requireOpen();
      const names = { $in: tombs.map((tomb) => ownId(workspace, tomb)) };
      const found: { readonly position: string; readonly naming: Naming }[] = [];
      if (!after?.startsWith(LETTERS)) {
        const filter: Filter<EventDocument> = {
          names,
          folded: { $ne: true },
          _id: { $gt: after?.slice(EVENTS.length) ?? "" },
        };
        const options = { sort: { _id: 1 }, limit, projection: WITH_PLACE } as const;
        for (const one of await session.call(() => events.find(filter, options).toArray())) {
          const { _id } = one;
          found.push({ position: EVENTS + _id, naming: namingOf(workspace, one) });
        }
      }
      if (found.length < limit) {
        const from = after?.startsWith(LETTERS) ? after.slice(LETTERS.length) : "";
        const filter = { ws: workspace, names, _id: { $gt: from } } as unknown as Filter<DeadLetterDocument>;
        const options = { sort: { _id: 1 }, limit: limit - found.length } as const;
        for (const one of await session.call(() => letters.find(filter, options).toArray())) {
          const letter = toLetter(one);
          found.push({ position: LETTERS + letter.deadLetterId, naming: { kind: "letter", letter } });
        }
      }
      return {
        found: found.map(({ naming }) => naming),
        next: found.length < limit ? null : found.at(-1)!.position,
      };
    },
    removeLetters: async (workspace, ids) => {
      session.requireOpen();
      let gone = 0;
      for (const some of slicesOf(ids, PER_CALL)) {
        const filter = { _id: { $in: [...some] }, ws: workspace };
        gone += (await session.call(() => letters.deleteMany(filter))).deletedCount;
      }
      return gone;
    },
    foldedInto: async (workspace, facets, limit) => {
      session.requireOpen();
      const found: Pick<EventDocument, "position">[] = [];
      for (const some of slicesOf(facets, PER_CALL)) {
        if (found.length === limit) break;
        const filter = { facet: { $in: some.map((uid) => ownId(workspace, uid)) }, folded: true } as const;
        const options = { projection: { _id: 0, position: 1 }, limit: limit - found.length } as const;
        found.push(...(await session.call(() => events.find(filter, options).toArray())));
      }
      return found.map(({ position }) => eventIdIn(position));
    },
  };
}
