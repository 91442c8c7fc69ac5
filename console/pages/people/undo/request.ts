import { api } from "../../../api/http.js";
import { href } from "../../../state/router.js";
import { isGiven } from "../parts/choose.js";
import { isSameLink, type Dropped, type Identifier, type Link } from "../parts/records.js";

export interface Two {
  readonly from: Identifier;
  readonly to: Identifier;
}

/** What is to be undone. `apart` names the two whom it shall part in the end, where it is one step of several. */
export type UndoRequest =
  | { readonly kind: "change"; readonly id: string }
  | { readonly kind: "identifier"; readonly identifier: Identifier; readonly apart?: Two | undefined }
  | (Two & { readonly kind: "pair"; readonly isForbidden: boolean; readonly apart?: Two | undefined });

/** Whom it shall part; null: nobody in particular. */
export function wantedApart(request: UndoRequest): Two | null {
  if (request.kind === "change") return null;
  if (request.kind === "identifier") return request.apart ?? null;
  return request.apart ?? { from: request.from, to: request.to };
}

export interface Ref {
  readonly profile_id: string;
  readonly size: number;
}

export interface Undone {
  readonly outcome: "unlinked" | "forbidden" | "reverted" | "allowed" | "unchanged";
  readonly profile_ids: readonly string[];
  readonly change_id: string | null;
  readonly still_joined_by?: readonly Link[];
  /** That path goes on, or there are more dropped links. */
  readonly partial?: true;
  readonly dropped?: readonly Dropped[];
}
/** The answer to a dry run. */
export interface Preview extends Undone {
  readonly before: readonly Ref[];
  readonly after: readonly Ref[];
  /** How many there are of these: the lists end after the first 1,000. */
  readonly profiles_before: number;
  readonly profiles_after: number;
}

export function hrefOfUndo(request: UndoRequest): string {
  if (request.kind === "change") return href("/undo", {}, { what: "change", change: request.id });
  const { namespace, value } = request.kind === "pair" ? request.from : request.identifier;
  const one = { what: request.kind, namespace, value };
  if (request.kind === "identifier") return href("/undo", {}, { ...one, ...apartOf(request.apart) });
  const { to, isForbidden, apart } = request;
  const other = { to_namespace: to.namespace, to_value: to.value, forbid: isForbidden ? "true" : null };
  // Those that it names itself need not stand there twice.
  const isOther = apart !== undefined && !isSameLink(apart, request);
  return href("/undo", {}, { ...one, ...other, ...(isOther && apartOf(apart)) });
}

const apartOf = (two: Two | undefined) =>
  two === undefined
    ? {}
    : {
        apart_namespace: two.from.namespace,
        apart_value: two.from.value,
        apart_to_namespace: two.to.namespace,
        apart_to_value: two.to.value,
      };

/** Whether both would undo the same. */
export const isSameRequest = (one: UndoRequest, other: UndoRequest): boolean =>
  hrefOfUndo(stepOf(one)) === hrefOfUndo(stepOf(other));
const stepOf = (request: UndoRequest): UndoRequest =>
  request.kind === "change" ? request : { ...request, apart: undefined };

/** What an address asks for; null: not all of it is there. */
export function readRequest(query: URLSearchParams): UndoRequest | null {
  const text = (name: string): string => query.get(name) ?? "";
  const side = (name: string): Identifier => ({ namespace: text(`${name}namespace`), value: text(`${name}value`) });
  const [from, to] = [side(""), side("to_")];
  const two = { from: side("apart_"), to: side("apart_to_") };
  const apart = isGiven(two.from) && isGiven(two.to) ? two : undefined;
  switch (text("what")) {
    case "change":
      return text("change").trim() === "" ? null : { kind: "change", id: text("change").trim() };
    case "identifier":
      return isGiven(from) ? { kind: "identifier", identifier: from, apart } : null;
    case "pair":
      return isGiven(from) && isGiven(to)
        ? { kind: "pair", from, to, isForbidden: text("forbid") === "true", apart }
        : null;
    default:
      return null;
  }
}

export function send(request: UndoRequest, isDry: true, signal?: AbortSignal): Promise<Preview>;
export function send(request: UndoRequest, isDry: false): Promise<Undone>;
export function send(request: UndoRequest, isDry: boolean, signal?: AbortSignal): Promise<Undone> {
  const query = isDry ? "?dry_run=true" : "";
  const asking = signal && { signal };
  if (request.kind === "change")
    return api("POST", `/v1/changes/${encodeURIComponent(request.id)}/revert${query}`, {}, asking);
  const body =
    request.kind === "identifier"
      ? { identifier: request.identifier }
      : { from: request.from, to: request.to, ...(request.isForbidden && { forbid: true }) };
  return api("POST", `/v1/identity/unlink${query}`, body, asking);
}

/** Whether two previews would do the same. */
export const isSamePreview = (one: Preview, other: Preview): boolean => {
  const told = ({ outcome, before, after, profiles_before, profiles_after, dropped, still_joined_by: path }: Preview) =>
    JSON.stringify([
      outcome,
      [before, profiles_before],
      [after, profiles_after],
      dropped,
      path?.map(({ change_id: id }) => id),
    ]);
  return told(one) === told(other);
};
