import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useQuery } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { PageProps } from "../../state/pages.js";
import {
  Button,
  Card,
  Confirm,
  count,
  ExactTime,
  Facts,
  Id,
  KeyId,
  Loaded,
  Missing,
  notify,
  PageFrame,
  Time,
} from "../../ui/kit.js";
import type { Receipt } from "./records.js";
import { Counts, Remains, Removed, sayKept, State } from "./shown.js";

const EVERY_MS = 3_000;

export function Page({ params }: PageProps): JSX.Element {
  const path = `/v1/erasures/${encodeURIComponent(params["id"]!)}`;
  const receipt = useQuery<Receipt>(path, { every: EVERY_MS });
  const [isReadmitting, setReadmitting] = useState(false);
  const isKeptOut = receipt.data?.suppress === true && receipt.data.readmitted_at === null;
  return (
    <PageFrame
      title="Receipt of an erasure"
      back={["#/erasures", "All erasures"]}
      intro={receipt.data !== null && <State of={receipt.data} />}
      actions={isKeptOut && <Button onClick={() => setReadmitting(true)}>Readmit…</Button>}
    >
      <Loaded
        {...receipt}
        lines={12}
        missing={
          <Missing what="erasure" icon="erase" back={["#/erasures", "All erasures"]}>
            No erasure of this workspace has this id. The id in an address must be whole.
          </Missing>
        }
      >
        {(read) => <Shown of={read} />}
      </Loaded>
      {isReadmitting && (
        <Confirm
          title="Readmit this person?"
          verb="Readmit"
          onClose={() => setReadmitting(false)}
          act={async () => {
            await api("POST", `${path}/readmit`, {});
            notify("The person is readmitted.");
            receipt.reload();
          }}
        >
          <p>What they do from now on begins a new profile. What was erased stays erased.</p>
        </Confirm>
      )}
    </PageFrame>
  );
}

const Shown = ({ of }: { readonly of: Receipt }): JSX.Element => (
  <div class="columns">
    <Card title="What was erased">
      <Facts
        facts={[
          [
            "Erased",
            <span key="e">
              <ExactTime at={of.erased_at} />: since then the person cannot be found
            </span>,
          ],
          [
            "Completed",
            of.completed_at === null ? (
              "not yet: data is still being deleted"
            ) : (
              <span key="c">
                <ExactTime at={of.completed_at} />, when all of it was deleted
              </span>
            ),
          ],
          ["Identifiers", <Counts key="i" of={of.identifiers} />],
          ["Deleted", <Removed key="r" of={of.removed} />],
          ["Records of changes", sayKept(of.removed)],
          [
            "Older events refused",
            of.late.events === 0 || of.late.last_at === null ? (
              "none"
            ) : (
              <span key="l">
                {count(of.late.events, "event")}, the last <Time at={of.late.last_at} />
              </span>
            ),
          ],
          [
            "Kept out",
            !of.suppress ? (
              "No: a new event of the person begins a new profile."
            ) : of.readmitted_at === null ? (
              "Yes, until readmitted."
            ) : (
              <span key="k">
                readmitted <Time at={of.readmitted_at} />
              </span>
            ),
          ],
          ["Asked by", <KeyId key="k" id={of.key_id} />],
          [
            "Profile",
            of.profile_id === null ? "none" : <Id key="p" id={of.profile_id} what="the id that the profile had" />,
          ],
          ["Receipt", <Id key="d" id={of.erasure_id} what="the erasure id" isWhole />],
        ]}
      />
    </Card>
    <Card title="What is not erased">
      <Remains of={of.remains} />
    </Card>
  </div>
);
