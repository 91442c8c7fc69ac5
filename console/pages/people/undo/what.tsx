import type { JSX } from "preact";
import { ChangeLink } from "../parts/evidence.js";
import { Name, Pair } from "../parts/text.js";
import type { UndoRequest } from "./request.js";

/** What is done to whom, with every identifier as a whole: it is read before it is done. */
export const What = ({
  request,
  areTwo,
}: {
  readonly request: UndoRequest;
  /** They are in no profile together. */
  readonly areTwo: boolean;
}): JSX.Element => (
  <div class="what">
    <p>{areTwo ? "These two may not come into one profile from now on:" : sayWhat(request)}</p>
    {request.kind === "change" ? (
      <ChangeLink id={request.id} />
    ) : request.kind === "identifier" ? (
      <Name of={request.identifier} isWhole />
    ) : (
      <Pair from={request.from} to={request.to} isWhole />
    )}
  </div>
);

function sayWhat(request: UndoRequest): string {
  if (request.kind === "change") return "What this change linked is unlinked, and what it unlinked is linked again:";
  if (request.kind === "identifier") return "This identifier is unlinked from all others:";
  return request.isForbidden
    ? "These two are unlinked from each other, and may not come into one profile again:"
    : "These two are unlinked from each other:";
}
