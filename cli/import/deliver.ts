import type { Http } from "../../client/http.js";
import type { Batch, Target } from "./batches.js";

interface ErrorItem {
  readonly path: string;
  readonly message: string;
}

/** What the service said of a batch. */
export interface Delivered {
  readonly accepted: number;
  /** Repeats of another item of the same batch. */
  readonly duplicates: number;
  readonly rejected: number;
  /** Not all that were rejected. */
  readonly reasons: readonly { readonly place: string; readonly message: string }[];
}

interface SdkAnswer {
  readonly accepted: number;
  readonly duplicates: number;
  readonly quarantined: number;
  readonly rejected: readonly { readonly index: number; readonly errors: readonly ErrorItem[] }[];
}

interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly results: readonly { readonly status: string; readonly errors?: readonly ErrorItem[] }[];
}

/** Sends a batch until the service has answered: doing it twice is the same as doing it once. */
export async function deliver(http: Http, { path, member }: Target, { items, body }: Batch): Promise<Delivered> {
  const call = { method: "POST", path, body, repeatable: true } as const;
  const reasonOf = (index: number, errors: readonly ErrorItem[] = []) => ({
    place: items[index]?.place ?? "",
    message: errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; "),
  });
  if (member === "batch") {
    const { accepted, duplicates, quarantined, rejected } = await http<SdkAnswer>(call);
    const reasons = rejected.map(({ index, errors }) => reasonOf(index, errors));
    return { accepted, duplicates, rejected: quarantined, reasons };
  }
  const { accepted, rejected, results } = await http<BatchAnswer>(call);
  const reasons = results.flatMap(({ status, errors }, index) =>
    status === "rejected" ? [reasonOf(index, errors)] : [],
  );
  return { accepted, duplicates: 0, rejected, reasons };
}
