import type { JSX } from "preact";
import { Card, Empty, LinkButton } from "../../../ui/kit.js";
import { readRequest } from "./request.js";

/** Somebody comes to forbid a pair, not to undo something. */
export const isToForbid = (query: URLSearchParams): boolean =>
  query.get("what") === "pair" && query.get("forbid") === "true" && readRequest(query) === null;

/** Below a form that asks for nothing yet. */
export const Blank = (): JSX.Element => (
  <Card>
    <Empty icon="undo" title="Enter what to undo" action={<LinkButton href="#/changes">Open changes</LinkButton>}>
      Enter two identifiers that are not one person, one identifier that belongs to nobody, or the id of a change. You
      can also come here from a profile’s identifiers, its identity graph or a change; then the form is filled in.
    </Empty>
  </Card>
);

export const NoPair = (): JSX.Element => (
  <Card>
    <Empty icon="forbidden" title="Enter the two identifiers">
      They will never be in one profile. If they are in one now, the preview shows how they are parted.
    </Empty>
  </Card>
);
