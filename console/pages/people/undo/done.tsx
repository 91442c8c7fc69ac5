import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../../api/http.js";
import { href } from "../../../state/router.js";
import { Card, count } from "../../../ui/kit.js";
import { ChangeLink } from "../parts/evidence.js";
import type { Identifier } from "../parts/records.js";
import { NAMED_MAX, Refs } from "./refs.js";
import { AfterUnlink } from "./device.js";
import { hrefOfUndo, wantedApart, type Preview, type Undone, type UndoRequest } from "./request.js";

const SHOWN_MAX = 10;

/** What was done: the profiles that came of it, and how to keep them as they are. */
export function Done({
  request,
  preview: { after, profiles_before: before, profiles_after: all },
  undone: { outcome, change_id: change },
}: {
  readonly request: UndoRequest;
  readonly preview: Preview;
  readonly undone: Undone;
}): JSX.Element {
  const shown = after.slice(0, SHOWN_MAX);
  const members = useMembers(shown.map(({ profile_id: id }) => id));
  const wanted = wantedApart(request);
  const isForbidden = request.kind === "pair" && request.isForbidden;
  return (
    <Card
      title={`Done: ${outcome}`}
      isResult
      note={
        change !== null && (
          <span class="row">
            Change <ChangeLink id={change} />
            {outcome !== "forbidden" && <a href={hrefOfUndo({ kind: "change", id: change })}>Undo this…</a>}
          </span>
        )
      }
    >
      <div class="stack">
        <Refs refs={shown} known={null} members={members} />
        {all > shown.length && (
          <p class="soft small">and {count(all - shown.length, "more profile", "more profiles")}</p>
        )}
        {!isForbidden && wanted !== null && <AfterUnlink two={wanted} />}
        {all > before && !isForbidden && <Again request={request} />}
      </div>
    </Card>
  );
}

/** What brought them together may come again. */
const Again = ({ request }: { readonly request: UndoRequest }): JSX.Element => (
  <p>
    Unless a limit already keeps them apart, what is sent from now on may link them again. To keep them apart:{" "}
    {request.kind === "identifier" && (
      <>
        <a href={href("/undo", {}, { what: "pair", ...request.identifier, forbid: "true" })}>
          forbid a pair with this identifier
        </a>
        ,{" "}
      </>
    )}
    set the <a href="#/namespaces">limit of a namespace</a>, or the <a href="#/settings">shared identifier limit</a>.
  </p>
);

/** The first identifiers of each; one that cannot be read shows its size only. */
function useMembers(ids: readonly string[]): ReadonlyMap<string, readonly Identifier[]> {
  const [members, setMembers] = useState<ReadonlyMap<string, readonly Identifier[]>>(new Map());
  useEffect(() => {
    const abort = new AbortController();
    const read = async (id: string) => {
      const path = `/v1/profiles/${encodeURIComponent(id)}/identifiers?limit=${NAMED_MAX}`;
      const page = await api<{ readonly identifiers: readonly Identifier[] }>("GET", path, undefined, {
        signal: abort.signal,
      }).catch(() => null);
      return [id, page?.identifiers ?? []] as const;
    };
    void Promise.all(ids.map(read)).then((all) => void (abort.signal.aborted || setMembers(new Map(all))));
    return () => abort.abort();
    // What was done does not change.
  }, []);
  return members;
}
