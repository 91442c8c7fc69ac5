import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { usePages } from "../../../api/hooks.js";
import { api } from "../../../api/http.js";
import { useMay } from "../../../state/session.js";
import { Button, Card, Confirm, Empty, LinkButton, notify, PagedTable, PageFrame, Time } from "../../../ui/kit.js";
import { orNull } from "../find.js";
import { ChangeLink } from "../parts/evidence.js";
import type { ForbiddenPair } from "../parts/records.js";
import { Pair } from "../parts/text.js";

export function Page(): JSX.Element {
  const pages = usePages<ForbiddenPair>("/v1/identity/forbidden-pairs", "forbidden_pairs");
  const [allowed, setAllowed] = useState<ForbiddenPair | null>(null);
  const mayAllow = useMay("admin");
  return (
    <PageFrame
      title="Forbidden pairs"
      intro="Two identifiers that may not be in one profile, neither directly nor through others. The pairs are in no order."
      actions={
        mayAllow && (
          <LinkButton icon="add" href="#/undo?what=pair&forbid=true">
            Forbid a pair
          </LinkButton>
        )
      }
    >
      <Card isFlush>
        <PagedTable
          label="Forbidden pairs"
          pages={pages}
          keyOf={({ forbidden_pair_id: id }) => id}
          empty={
            <Empty icon="forbidden" title="No pair is forbidden">
              When two people were taken for one, unlink them and forbid the pair, so that it does not happen again. An
              admin does that in {mayAllow ? <a href="#/undo?what=pair&forbid=true">Undo</a> : "Undo"}.
            </Empty>
          }
          columns={[
            { name: "Pair", fit: "wide", show: ({ from, to }) => <Pair from={from} to={to} /> },
            { name: "Change", show: ({ change_id: id }) => <ChangeLink id={id} /> },
            { name: "When", show: ({ at }) => <Time at={at} /> },
            ...(mayAllow
              ? [
                  {
                    name: "Actions",
                    isNameless: true,
                    fit: "end" as const,
                    show: (pair: ForbiddenPair) => (
                      <Button isSmall onClick={() => setAllowed(pair)}>
                        Allow…
                      </Button>
                    ),
                  },
                ]
              : []),
          ]}
        />
      </Card>
      {allowed !== null && (
        <Confirm
          title="Allow this pair again?"
          verb="Allow the pair"
          onClose={() => setAllowed(null)}
          act={async () => {
            const done = await orNull(api("DELETE", `/v1/identity/forbidden-pairs/${allowed.forbidden_pair_id}`));
            if (done === null) notify("This pair was allowed already, in another tab or by somebody else.", "bad");
            else notify("The pair is allowed. It is not linked again before somebody says so.");
            pages.reload();
          }}
        >
          <Pair from={allowed.from} to={allowed.to} />
          <p>Events that name both will link them again. Links that were refused meanwhile are not added.</p>
        </Confirm>
      )}
    </PageFrame>
  );
}
