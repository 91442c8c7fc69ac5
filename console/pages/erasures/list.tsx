import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { usePages } from "../../api/hooks.js";
import { href } from "../../state/router.js";
import { BothTimes, Button, Card, Empty, Id, Num, PagedTable, PageFrame } from "../../ui/kit.js";
import { Check } from "./check.js";
import { Erase } from "./erase.js";
import type { Receipt } from "./records.js";
import { Counts, State } from "./shown.js";

const EVERY_MS = 5_000;

export function Page(): JSX.Element {
  const receipts = usePages<Receipt>("/v1/erasures", "erasures", { every: EVERY_MS });
  const [isErasing, setErasing] = useState(false);
  return (
    <PageFrame
      title="Erasures"
      intro="What was erased and when, and how many older events of that person were refused later. A receipt contains no personal data."
      actions={
        <Button kind="risky" icon="erase" onClick={() => setErasing(true)}>
          Erase a person
        </Button>
      }
    >
      <Card isFlush>
        <PagedTable
          label="Erasures"
          pages={receipts}
          keyOf={({ erasure_id: id }) => id}
          empty={
            <Empty icon="erase" title="Nobody has been erased yet">
              A person is erased on the page of the profile, or here by identifiers. It cannot be undone.
            </Empty>
          }
          columns={[
            {
              name: "Receipt",
              show: ({ erasure_id: id }) => <Id id={id} href={href("/erasures/:id", { id })} what="the erasure id" />,
            },
            {
              name: "State",
              means: "Kept out: nothing new brings the person back, until somebody readmits them.",
              show: (receipt) => <State of={receipt} />,
            },
            { name: "Identifiers", fit: "wide", show: ({ identifiers }) => <Counts of={identifiers} /> },
            { name: "Events deleted", fit: "end", show: ({ removed }) => <Num value={removed["events"] ?? 0} /> },
            { name: "Older events refused", fit: "end", show: ({ late }) => <Num value={late.events} /> },
            { name: "Erased", show: ({ erased_at: at }) => <BothTimes at={at} /> },
          ]}
        />
      </Card>
      <Check />
      {isErasing && <Erase onClose={() => setErasing(false)} />}
    </PageFrame>
  );
}
