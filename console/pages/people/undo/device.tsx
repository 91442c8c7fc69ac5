import type { JSX } from "preact";
import { useAnswer } from "../../../api/answer.js";
import { api } from "../../../api/http.js";
import type { Namespace } from "../../../api/records.js";
import { Bones, Message } from "../../../ui/kit.js";
import type { Identifier, LookedUp } from "../parts/records.js";
import { Name } from "../parts/text.js";
import { KeepApart } from "./apart.js";
import { hrefOfUndo, type Two } from "./request.js";

/** Two people who met at a device: it was unlinked from one of them, and is with the other still. */
interface Met {
  readonly device: Identifier;
  readonly people: Two;
}

/** Null: they are no person and a device, the device is with nobody, or the two are one profile still. */
async function findMet({ from, to }: Two, signal: AbortSignal): Promise<Met | null> {
  const { namespaces } = await api<{ readonly namespaces: readonly Namespace[] }>(
    "GET",
    "/v1/namespaces?limit=100",
    undefined,
    { signal },
  );
  const rankOf = new Map(
    namespaces.flatMap(({ name, kind, priority }) => (kind === "person" ? [[name, priority]] : [])),
  );
  const isPerson = ({ namespace }: Identifier): boolean => rankOf.has(namespace);
  if (isPerson(from) === isPerson(to)) return null;
  const [person, device] = isPerson(from) ? [from, to] : [to, from];
  const { profiles } = await api<LookedUp>(
    "POST",
    "/v1/profiles/lookup",
    { identifiers: [device, person] },
    { signal, isRead: true },
  );
  if (profiles.length !== 2) return null;
  const holder = profiles.find(({ matched }) => matched.some(({ namespace }) => namespace === device.namespace));
  const [other] = (holder?.identifiers ?? [])
    .filter(isPerson)
    .toSorted((a, b) => rankOf.get(b.namespace)! - rankOf.get(a.namespace)!);
  return other === undefined ? null : { device, people: { from: person, to: other } };
}

/** How to keep apart whom the undo was about: where a device joined two people, the two, and not one of them and the device. */
export function AfterUnlink({ two }: { readonly two: Two }): JSX.Element {
  const { data: met, error } = useAnswer("met", async (signal) => ({ is: await findMet(two, signal) }));
  if (met === null && error === null) return <Bones lines={2} />;
  const found = met?.is ?? null;
  if (found === null) return <KeepApart two={two} />;
  return (
    <>
      <KeepApart two={found.people} />
      <Message tone="info">
        <strong>The device is still with one of them</strong>
        <Name of={found.device} isWhole />
        <span>
          It is linked to one of the two only. If several people use it,{" "}
          <a href={hrefOfUndo({ kind: "identifier", identifier: found.device, apart: found.people })}>unlink it too</a>.
        </span>
      </Message>
    </>
  );
}
