import { api } from "../../../api/http.js";
import { href } from "../../../state/router.js";
import { isGiven } from "../parts/choose.js";
import type { Dropped, Identifier, Link } from "../parts/records.js";

/** What is to be undone. */
export type UndoRequest =
  | { readonly kind: "change"; readonly id: string }
  | { readonly kind: "identifier"; readonly identifier: Identifier }
  | { readonly kind: "pair"; readonly from: Identifier; readonly to: Identifier; readonly isForbidden: boolean };

export interface Ref {
  readonly profile_id: string;
  readonly size: number;
}

export interface Undone {
  readonly outcome: "unlinked" | "forbidden" | "reverted" | "allowed" | "unchanged";
  readonly profile_ids: readonly string[];
  readonly change_id: string | null;
  readonly still_joined_by?: readonly Link[];
  readonly dropped?: readonly Dropped[];
}
/** The answer to a dry run. */
export interface Preview extends Undone {
  readonly before: readonly Ref[];
  readonly after: readonly Ref[];
}

export function hrefOfUndo(request: UndoRequest): string {
  if (request.kind === "change") return href("/undo", {}, { what: "change", change: request.id });
  const { namespace, value } = request.kind === "pair" ? request.from : request.identifier;
  const one = { what: request.kind, namespace, value };
  if (request.kind === "identifier") return href("/undo", {}, one);
  const { to, isForbidden } = request;
  const other = { to_namespace: to.namespace, to_value: to.value, forbid: isForbidden ? "true" : null };
  return href("/undo", {}, { ...one, ...other });
}

/** Whether both would undo the same. */
export const isSameRequest = (one: UndoRequest, other: UndoRequest): boolean => hrefOfUndo(one) === hrefOfUndo(other);

/** What an address asks for; null: not all of it is there. */
export function readRequest(query: URLSearchParams): UndoRequest | null {
  const text = (name: string): string => query.get(name) ?? "";
  const from = { namespace: text("namespace"), value: text("value") };
  const to = { namespace: text("to_namespace"), value: text("to_value") };
  switch (text("what")) {
    case "change":
      return text("change").trim() === "" ? null : { kind: "change", id: text("change").trim() };
    case "identifier":
      return isGiven(from) ? { kind: "identifier", identifier: from } : null;
    case "pair":
      return isGiven(from) && isGiven(to) ? { kind: "pair", from, to, isForbidden: text("forbid") === "true" } : null;
    default:
      return null;
  }
}

export function send(request: UndoRequest, isDry: true): Promise<Preview>;
export function send(request: UndoRequest, isDry: false): Promise<Undone>;
export function send(request: UndoRequest, isDry: boolean): Promise<Undone> {
  const query = isDry ? "?dry_run=true" : "";
  if (request.kind === "change") return api("POST", `/v1/changes/${encodeURIComponent(request.id)}/revert${query}`, {});
  const body =
    request.kind === "identifier"
      ? { identifier: request.identifier }
      : { from: request.from, to: request.to, ...(request.isForbidden && { forbid: true }) };
  return api("POST", `/v1/identity/unlink${query}`, body);
}

/** Whether two previews would do the same. */
export const isSamePreview = (one: Preview, other: Preview): boolean => {
  const told = ({ outcome, before, after, dropped, still_joined_by: path }: Preview) =>
    JSON.stringify([outcome, before, after, dropped, path?.map(({ change_id: id }) => id)]);
  return told(one) === told(other);
};
