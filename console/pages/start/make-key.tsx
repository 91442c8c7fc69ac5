import { Fragment, type JSX } from "preact";
import { useState } from "preact/hooks";
import { useQuery, type Action } from "../../api/hooks.js";
import type { Key, NewKey } from "../../api/records.js";
import { useMay } from "../../state/session.js";
import { Button, Code, Failure, Message, TextField } from "../../ui/kit.js";

/** As the page of the keys calls them. */
const FITS = { collect: "events and SDKs", all: "events, identify and alias" } as const;
const NAMED_MAX = 3;
/** The name that a key has no other has yet. */
function freeName(name: string, keys: readonly Key[]): string {
  const taken = new Set(keys.map((key) => key.name));
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name} ${n}`;
  return free;
}
const Named = ({ of: { name, key_id: id } }: { readonly of: Key }): JSX.Element => (
  <>
    “<bdi class="name-in-text">{name ?? id}</bdi>”
  </>
);

export function MakeKey({
  send,
  keyName,
  made,
  making,
  onMade,
}: {
  readonly send: "collect" | "all";
  readonly keyName: string;
  readonly made: NewKey | null;
  readonly making: Action<readonly [body: object], NewKey>;
  readonly onMade: (key: NewKey) => void;
}): JSX.Element {
  const mayMake = useMay("owner");
  const keys = useQuery<{ readonly keys: readonly Key[] }>(mayMake ? "/v1/keys?limit=100" : null).data?.keys ?? [];
  const standing = keys.filter((key) => key.send === send && key.rotated_to === null);
  const [typed, setTyped] = useState<string | null>(null);
  const free = freeName(keyName, keys);
  const name = typed ?? free;
  if (made !== null)
    return (
      <div class="stack-small">
        <Message tone="warn">The key is shown once: copy it now, or take the snippet below, which holds it.</Message>
        <Code text={made.key} wraps label="the key" />
      </div>
    );
  if (!mayMake)
    return (
      <Message tone="info">
        A key of role owner makes the keys of senders. Ask whoever has one: this sender needs a key for {FITS[send]}.
      </Message>
    );
  const make = async (): Promise<void> => {
    const key = await making.run({ role: "editor", send, name: name.trim() || free });
    if (key !== undefined) onMade(key);
  };
  return (
    <div class="stack-small">
      {standing.length === 0 ? (
        <p class="soft">It needs a key for {FITS[send]}.</p>
      ) : (
        <Message tone="info">
          <span>
            There {standing.length === 1 ? "is a key" : "are keys"} for {FITS[send]} already:{" "}
            {standing.slice(0, NAMED_MAX).map((key, n) => (
              <Fragment key={key.key_id}>
                {n > 0 && ", "}
                <Named of={key} />
              </Fragment>
            ))}
            {standing.length > NAMED_MAX && " and others"}. The secret of a key is shown only once, when it is made: if
            you have it, put it into the snippet, else create another one.
          </span>
        </Message>
      )}
      <form
        class="toolbar"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <TextField label="Name of the key" type="text" value={name} onInput={setTyped} />
        <Button kind={standing.length === 0 ? "primary" : "plain"} type="submit" icon="key" isBusy={making.isBusy}>
          {standing.length === 0 ? "Create a key" : "Create another key"}
        </Button>
      </form>
      <Failure error={making.error} />
    </div>
  );
}
