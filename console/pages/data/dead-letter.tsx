import type { JSX } from "preact";
import { useQuery } from "../../api/hooks.js";
import type { WholeLetter } from "../../api/records.js";
import { href } from "../../state/router.js";
import { Dialog, Empty, Facts, Id, Json, Loaded, Message, Time } from "../../ui/kit.js";

/** One dead letter, with what is wrong with it. */
export function Letter({ id, onClose }: { readonly id: string; readonly onClose: () => void }): JSX.Element {
  const letter = useQuery<WholeLetter>(`/v1/dead-letters/${id}`);
  return (
    <Dialog title="Dead letter" isLarge onClose={onClose}>
      <Loaded
        {...letter}
        lines={10}
        missing={
          <Empty icon="letter" title="This dead letter is gone">
            Its retention is over, or the person that it names was erased.
          </Empty>
        }
      >
        {(whole) => (
          <div class="stack">
            {whole.errors.length > 0 && (
              <Message tone="bad">
                <strong>What is wrong with it</strong>
                <ul>
                  {whole.errors.map(({ path, message }) => (
                    <li key={`${path} ${message}`}>
                      {path !== "" && <code>{path}</code>} {message}
                    </li>
                  ))}
                </ul>
              </Message>
            )}
            <Facts
              facts={[
                ["Reason", whole.reason],
                [
                  "Schema",
                  whole.schema_id === null ? (
                    "unknown"
                  ) : (
                    <a key="s" href={href("/schemas/:id", { id: whole.schema_id })}>
                      {whole.schema_id}
                    </a>
                  ),
                ],
                ["Key", whole.key_id === null ? "unknown" : <Id key="k" id={whole.key_id} what="the key id" />],
                ["Received", whole.received_at === null ? "unknown" : <Time key="t" at={whole.received_at} isExact />],
                ["Buried", <Time key="b" at={whole.at} isExact />],
                ["Letter", <Id key="i" id={whole.dead_letter_id} what="the id of the dead letter" />],
              ]}
            />
            <Json value={whole.payload} label="the payload" />
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}
