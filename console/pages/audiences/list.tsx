import type { JSX } from "preact";
import { usePages } from "../../api/hooks.js";
import type { Audience } from "../../api/audiences.js";
import { href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import { BothTimes, Card, Empty, LinkButton, Num, PagedTable, PageFrame } from "../../ui/kit.js";
import { State } from "./state.js";

const EVERY_MS = 5_000;

export function Page(): JSX.Element {
  const audiences = usePages<Audience>("/v1/audiences?limit=100", "audiences", { every: EVERY_MS });
  const mayEdit = useMay("editor");
  const create = (
    <LinkButton kind="primary" icon="add" href="#/new-audience">
      New audience
    </LinkButton>
  );
  return (
    <PageFrame
      title="Audiences"
      intro="An audience is a rule with a name. Its members always follow the rule, even after a merge, an undo or a late event."
      actions={mayEdit && create}
    >
      <Card isFlush>
        <PagedTable
          label="Audiences"
          pages={audiences}
          keyOf={({ audience_id: id }) => id}
          empty={
            <Empty icon="audience" title="There is no audience yet">
              An audience could be everybody who spent 500 in 90 days, or everybody who was not seen for a month.
            </Empty>
          }
          columns={[
            {
              name: "Name",
              fit: "wide",
              show: ({ audience_id: id, name }) => (
                <a href={href("/audiences/:id", { id })}>
                  <bdi>{name}</bdi>
                </a>
              ),
            },
            { name: "Members", fit: "end", show: ({ size }) => <Num value={size} /> },
            { name: "State", show: (audience) => <State of={audience} /> },
            { name: "Version", fit: "end", show: ({ version }) => <Num value={version} /> },
            { name: "Created", show: ({ created_at: at }) => <BothTimes at={at} /> },
          ]}
        />
      </Card>
    </PageFrame>
  );
}
