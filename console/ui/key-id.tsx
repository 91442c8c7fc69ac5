import type { JSX } from "preact";
import { useKeyName } from "../api/key-names.js";
import { Copy } from "./buttons.js";
import { Id, shorten, visible } from "./text.js";

/** A key by its name, with a button that copies its id; by its id where the name is not known. */
export function KeyId({ id }: { readonly id: string }): JSX.Element {
  const name = useKeyName(id);
  if (name === null) return <Id id={id} what="the key id" />;
  return (
    <span class="id named">
      <bdi title={`${visible(name)} (${id})`}>{visible(name)}</bdi>
      <Copy text={id} what="the key id" />
    </span>
  );
}

/** A key in a line of text: its name, or else its id. */
export const KeyName = ({ id }: { readonly id: string }): JSX.Element => {
  const name = useKeyName(id);
  return <bdi>{name === null ? shorten(id) : visible(name)}</bdi>;
};
