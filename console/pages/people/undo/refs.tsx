import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, count, shorten } from "../../../ui/kit.js";
import { ProfileLink } from "../parts/evidence.js";
import { keyOf, type Identifier } from "../parts/records.js";
import { Name } from "../parts/text.js";
import type { Ref } from "./request.js";

export const NAMED_MAX = 4;
/** Profiles of one identifier beyond this many are one line, until they are asked for. */
const ALONE_MAX = 3;
const SHOWN_MAX = 20;

interface RefsProps {
  readonly refs: readonly Ref[];
  readonly known: readonly Ref[] | null;
  readonly members: ReadonlyMap<string, readonly Identifier[]> | null;
}

/** Profiles, each with its first identifiers. */
export function Refs({ isFolded = false, ...all }: RefsProps & { readonly isFolded?: boolean }): JSX.Element {
  const alone = all.refs.filter(({ size }) => size === 1);
  if (!isFolded || alone.length <= ALONE_MAX) return <Some {...all} />;
  // Else what came apart into many is a list as long as the profile was, and the large ones are lost in it.
  return (
    <>
      <Some {...all} refs={all.refs.filter(({ size }) => size > 1)} />
      <details>
        <summary>{count(alone.length, "profile")} of one identifier each</summary>
        <Some {...all} refs={alone} />
      </details>
    </>
  );
}

function Some({ refs, known, members }: RefsProps): JSX.Element {
  const [most, setMost] = useState(SHOWN_MAX);
  const isKnown = (id: string): boolean => known?.some((one) => one.profile_id === id) ?? true;
  return (
    <>
      <ul class="undo-refs">
        {refs.slice(0, most).map(({ profile_id: id, size }) => {
          const names = members?.get(id) ?? [];
          return (
            <li key={id}>
              <span class="row">
                {/* One that is not there yet has no page. */}
                {isKnown(id) ? <ProfileLink id={id} /> : <span class="mono">{shorten(id)}</span>}
                <span class="soft small">{count(size, "identifier")}</span>
              </span>
              <span class="stack-tight">
                {names.slice(0, NAMED_MAX).map((one) => (
                  <Name key={keyOf(one)} of={one} />
                ))}
                {names.length > 0 && size > NAMED_MAX && (
                  <span class="soft small">and {count(size - NAMED_MAX, "more", "more")}</span>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      {refs.length > most && (
        <Button isSmall onClick={() => setMost(most + SHOWN_MAX)}>
          Show more
        </Button>
      )}
    </>
  );
}
