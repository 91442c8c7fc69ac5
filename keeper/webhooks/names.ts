import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Rejects when the signal aborts; nothing goes on then. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly Address[]>;

export interface NamesOptions {
  /** Name servers in the place of the system's. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly resolverFile?: string;
}

/** Of the first try; the second one waits twice as long. */
const TIMEOUT_MS = 3_000;
const TRIES = 2;

/**
 * What the system says a name is, from its hosts file and its name servers, without `getaddrinfo`: each look-up of that holds one of the
 * two threads that libuv has for them until the name server answers, and everybody who may name a host may name a silent one.
 */
export function createNames({
  servers,
  hostsFile = "/etc/hosts",
  resolverFile = "/etc/resolv.conf",
}: NamesOptions = {}): Resolve {
  return async (name, signal) => {
    const own = addressesIn(await textOf(hostsFile), name);
    if (own.length > 0) return own;
    // Of its own, because cancelling ends all that is asked of one.
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener("abort", cancel);
    try {
      return await firstOf(resolver, fullNames(await textOf(resolverFile), name), signal);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}

/** A failure that a name server answers is one of this name: a search domain may be none of its own. Silence ends the search. */
async function firstOf(resolver: Resolver, names: readonly string[], signal: AbortSignal): Promise<readonly Address[]> {
  let failure: unknown = null;
  for (const one of names) {
    signal.throwIfAborted();
    try {
      const found = await ask(resolver, one);
      if (found.length > 0) return found;
    } catch (error) {
      if (!isAnswered(error)) throw error;
      failure ??= error;
    }
  }
  throw failure ?? Object.assign(new Error("No address has this name."), { code: "ENOTFOUND" });
}

/** A system without the file says nothing in it. */
const textOf = (file: string): Promise<string> => readFile(file, "utf8").catch(() => "");

const linesOf = (text: string): readonly (readonly string[])[] =>
  text.split("\n").map((line) =>
    line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/),
  );

function addressesIn(hosts: string, name: string): readonly Address[] {
  const wanted = name.toLowerCase().replace(/\.$/, "");
  return linesOf(hosts).flatMap(([address = "", ...names]) => {
    const family = isIP(address);
    return family !== 0 && names.some((one) => one.toLowerCase() === wanted) ? [{ address, family }] : [];
  });
}

/** The names to ask for, in the order of the system: a short name is one of a search domain first. */
function fullNames(settings: string, name: string): readonly string[] {
  if (name.endsWith(".")) return [name];
  const lines = linesOf(settings);
  const [, ...domains] = lines.findLast(([word]) => word === "search" || word === "domain") ?? [];
  const options = lines.flatMap(([word, ...rest]) => (word === "options" ? rest : []));
  const dotsMin = Number(options.findLast((one) => /^ndots:\d+$/.test(one))?.slice("ndots:".length) ?? 1);
  const searched = domains.filter((domain) => domain !== ".").map((domain) => `${name}.${domain}`);
  return name.split(".").length > dotsMin ? [name, ...searched] : [...searched, name];
}

/** None where the name servers know none; rejects where they told of neither family and failed for one. */
async function ask(resolver: Resolver, name: string): Promise<readonly Address[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = answers.flatMap((one, n) =>
    one.status === "fulfilled" ? one.value.map((address) => ({ address, family: n === 0 ? 4 : 6 })) : [],
  );
  const failure = answers.find((one) => one.status === "rejected" && !isNone(one.reason));
  if (found.length === 0 && failure?.status === "rejected") throw failure.reason;
  return found;
}

const codeOf = (reason: unknown): string => (reason as NodeJS.ErrnoException).code ?? "";
const isNone = (reason: unknown): boolean => ["ENOTFOUND", "ENODATA"].includes(codeOf(reason));
const isAnswered = (reason: unknown): boolean => ["ESERVFAIL", "EREFUSED", "ENOTIMP"].includes(codeOf(reason));
