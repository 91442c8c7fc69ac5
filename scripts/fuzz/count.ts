import type { Operation } from "./walk.js";

/** How often an operation was called, and how often it answered 2xx and 5xx. */
export interface Count {
  readonly operationId: string;
  readonly calls: number;
  readonly good: number;
  readonly broken: number;
}

interface Report {
  readonly log: {
    readonly entries: readonly {
      readonly request: { readonly method: string; readonly url: string };
      readonly response: { readonly status: number };
    }[];
  };
}

/** Counts the calls of a HAR report by operation. A call with another method is of none. */
export function countHits(operations: readonly Operation[], har: string): readonly Count[] {
  const { entries } = (JSON.parse(har) as Report).log;
  const calls = entries.map(({ request, response }) => ({
    method: request.method,
    path: new URL(request.url).pathname,
    status: response.status,
  }));
  // A path without parameters goes before one that would take its last part for an id.
  const byFit = operations.toSorted((a, b) => parametersIn(a.path) - parametersIn(b.path));
  const found = calls.map(({ method, path }) =>
    byFit.find((operation) => operation.method === method && patternOf(operation.path).test(path)),
  );
  return operations.map((operation) => {
    const { operationId } = operation;
    const statuses = calls.filter((_, at) => found[at] === operation).map(({ status }) => status);
    return {
      operationId,
      calls: statuses.length,
      good: statuses.filter((status) => status >= 200 && status < 300).length,
      broken: statuses.filter((status) => status >= 500).length,
    };
  });
}

const parametersIn = (path: string): number => path.split("{").length;
const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]*")}$`);
