import type { JSX } from "preact";
import { useAnswer } from "../../api/answer.js";
import { api } from "../../api/http.js";
import type { Dataset } from "../../api/records.js";
import { Button, Confirm, count, Dialog, Loaded } from "../../ui/kit.js";

const toldOf = (total: number | null): string =>
  total === 0
    ? "No stored event of this schema waits to be folded: there is nothing to do."
    : `${total === null ? "Very many events" : count(total, "event")} of this schema ${total === 1 ? "is" : "are"} stored and not folded. They are folded in the background, beside what comes in.`;

type Plan = Readonly<Record<"total", number | null>>;

/** Asks first, after a look at how much there is: a backfill of what is stored already. */
export function Fill({
  of,
  onClose,
  onDone,
}: {
  readonly of: Dataset;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const path = `/v1/datasets/${of.dataset_id}/backfill`;
  const plan = useAnswer(path, (signal) => api<Plan>("POST", `${path}?dry_run=true`, {}, { signal }));
  if (plan.data?.total === 0)
    return (
      <Dialog
        title="Nothing can be folded"
        onClose={onClose}
        foot={
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        }
      >
        <p>{toldOf(0)}</p>
      </Dialog>
    );
  return (
    <Confirm
      title={`Fold the stored events of “${of.name}”?`}
      verb="Fold them"
      isReady={plan.data !== null}
      onClose={onClose}
      act={async () => {
        await api("POST", path, {});
        onDone();
      }}
    >
      <Loaded {...plan} reload={plan.again} lines={1}>
        {({ total }) => <p>{toldOf(total)}</p>}
      </Loaded>
    </Confirm>
  );
}
