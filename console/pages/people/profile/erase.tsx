import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../../../api/answer.js";
import { useAction } from "../../../api/hooks.js";
import { api, ApiError, queryOf, tagged } from "../../../api/http.js";
import { href, useGo } from "../../../state/router.js";
import { KeepOut } from "../../erasures/shown.js";
import { Button, CheckField, count, Dialog, Facts, Failure, Loaded, Message, notify } from "../../../ui/kit.js";

interface Preview {
  readonly identifiers: Readonly<Record<string, number>>;
  readonly events: number;
  readonly partial?: true;
}

/** Shows what would go, and erases it only as it was shown. */
export function Erase({ id, onClose }: { readonly id: string; readonly onClose: () => void }): JSX.Element {
  const [isKeptOut, setKeptOut] = useState(false);
  const [isSure, setSure] = useState(false);
  const path = `/v1/profiles/${id}`;
  const {
    data: seen,
    error,
    again,
  } = useAnswer(path, async (signal) => {
    const { answer: preview, tag } = await tagged<Preview>("DELETE", `${path}?dry_run=true`, undefined, { signal });
    return { preview, tag };
  });
  const erasing = useAction(async () => {
    const headers = { ...((seen?.tag ?? null) !== null && { "If-Match": seen!.tag! }) };
    return api<{ readonly erasure_id: string }>("DELETE", `${path}${queryOf({ suppress: isKeptOut })}`, undefined, {
      headers,
    });
  });
  const go = useGo();
  const erase = async (): Promise<void> => {
    const done = await erasing.run();
    if (done === undefined) return;
    notify("The person is erased. This is the receipt.");
    go(href("/erasures/:id", { id: done.erasure_id }));
  };
  const isOther = erasing.error instanceof ApiError && erasing.error.problem.status === 412;
  return (
    <Dialog
      title="Erase this person?"
      onClose={onClose}
      isBusy={erasing.isBusy}
      foot={
        <>
          <Button disabled={erasing.isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind="danger"
            icon="erase"
            disabled={!isSure || seen === null}
            isBusy={erasing.isBusy}
            onClick={() => void erase()}
          >
            Erase forever
          </Button>
        </>
      }
    >
      <Loaded data={seen} error={error} reload={again} lines={3}>
        {({ preview }) => <Goes preview={preview} />}
      </Loaded>
      <KeepOut checked={isKeptOut} onChange={setKeptOut} />
      <CheckField label="I know that nobody can undo this" checked={isSure} onChange={setSure} />
      {isOther ? (
        <Message tone="warn">
          <span>This profile changed since it was shown here. Look at what would go now.</span>
          <div>
            <Button
              isSmall
              onClick={() => {
                erasing.reset();
                setSure(false);
                again();
              }}
            >
              Look again
            </Button>
          </div>
        </Message>
      ) : (
        <Failure error={erasing.error} />
      )}
    </Dialog>
  );
}

const Goes = ({ preview: { identifiers, events, partial } }: { readonly preview: Preview }): JSX.Element => (
  <div class="stack-small">
    <p>This is deleted, and nothing shows the person any more:</p>
    <Facts
      facts={[
        ...Object.entries(identifiers).map(([namespace, many]) => [namespace, count(many, "identifier")] as const),
        ["Events", `${events.toLocaleString("en")}${partial === true ? " or more" : ""}`],
      ]}
    />
    <p class="soft small">
      Their traits, links and memberships are deleted too. Records of changes keep no value of theirs.
    </p>
  </div>
);
