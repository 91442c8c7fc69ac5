import { identifierKey } from "../../core/event/event.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import { inPortions } from "../scheduling/chunks.js";
import { fallApart, removesOf, splitPlan, type ForbiddenPairSides, type Part } from "./split.js";
import type { Step } from "./result.js";
import type { Web } from "./component-graph.js";

/** A profile that loses links. */
export interface Torn {
  readonly web: Web;
  /** Forbidden pairs that have a side in it. */
  readonly forbiddenPairs: readonly ForbiddenPairSides[];
  readonly gone: readonly number[];
}

/**
 * Steps that take the links, so many in each. What falls apart does so in the step that takes its last link: the links that stay need
 * not hold together what is left after each of them.
 */
export function* tearApart(workspace: WorkspaceId, torn: readonly Torn[], linksPerStep: number): Generator<Step> {
  const all = torn.map((one) => ({ ...one, pieces: createPieces(workspace, one) }));
  const links = all.reduce((sum, { gone }) => sum + gone.length, 0);
  if (links <= linksPerStep) yield stepOf(workspace, all);
  else
    for (const one of all)
      for (const gone of inPortions(one.gone, linksPerStep)) yield stepOf(workspace, [{ ...one, gone }]);
}

interface Taking extends Torn {
  readonly pieces: Pieces;
}

function stepOf(workspace: WorkspaceId, takings: readonly Taking[]): Step {
  const falls = takings.flatMap(({ web, pieces, gone }) => pieces.take(gone).map((fall) => ({ web, fall })));
  return {
    keys: falls.map(({ fall }) => fall.key),
    links: takings.reduce((sum, { gone }) => sum + gone.length, 0),
    plan: (now, change) => ({
      removes: takings.flatMap(({ web, gone }) => removesOf(workspace, web, gone, change)),
      splits: falls.flatMap(
        ({ web, fall: { key, parts } }) => splitPlan(now.identifiers.get(key)!.component, web, parts) ?? [],
      ),
    }),
  };
}

/** What a profile is in by now, while its links go. */
interface Pieces {
  /** Answers what became of each piece that had any of the links. */
  readonly take: (links: readonly number[]) => readonly Fall[];
}

interface Fall {
  /** Of an identifier in the piece. */
  readonly key: IdentifierKey;
  /** The largest first. */
  readonly parts: readonly Part[];
}

function createPieces(workspace: WorkspaceId, { web, forbiddenPairs }: Torn): Pieces {
  const gone = new Set<number>();
  const pieceAt = new Uint32Array(web.members.length);
  const pieces: (readonly number[])[] = [[...web.members.keys()]];

  const fall = (piece: number): readonly Part[] => {
    const parts = fallApart(web, gone, forbiddenPairs, pieces[piece]);
    const [stays, ...others] = parts;
    pieces[piece] = stays!.members;
    for (const { members } of others) {
      const made = pieces.push(members) - 1;
      for (const position of members) pieceAt[position] = made;
    }
    return parts;
  };
  return {
    take: (links) => {
      const ends = new Map<number, number>();
      for (const link of links) {
        gone.add(link);
        const end = web.ends[2 * link]!;
        ends.set(pieceAt[end]!, end);
      }
      return [...ends].map(([piece, end]) => ({
        key: identifierKey(workspace, web.members[end]!.identifier),
        parts: fall(piece),
      }));
    },
  };
}
