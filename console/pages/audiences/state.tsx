import type { JSX } from "preact";
import type { Audience } from "../../api/audiences.js";
import { Badge, count, Missing } from "../../ui/kit.js";

/** Whether its members are those of the rule already. */
export function State({ of: { state, progress } }: { readonly of: Audience }): JSX.Element {
  if (state === "live") return <Badge tone="good">live</Badge>;
  return (
    <span class="row">
      <Badge tone="info">{state}</Badge>
      {state === "building" && progress !== undefined && (
        <span class="soft small">{count(progress.profiles, "profile")} checked</span>
      )}
    </span>
  );
}

/** Of an address whose audience is not there. */
export const NoAudience = (): JSX.Element => (
  <Missing what="audience" icon="audience" back={["#/audiences", "All audiences"]}>
    Somebody deleted it, or no audience of this workspace has this id. The id in an address must be whole.
  </Missing>
);
