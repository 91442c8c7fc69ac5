import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { run } from "../../cli/run.js";

export interface Ran {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly url?: string;
  readonly key?: string | null;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array | AsyncIterable<string>;
  /** What a person answers; null: nobody is there. */
  readonly answer?: boolean | null;
  readonly isTerminal?: boolean;
}

/** Runs a command in this process, in a world of the test's own. */
export async function onym(args: readonly string[], running: Running = {}): Promise<Ran> {
  const { url, key = null, env = {}, stdin = "", answer = null, isTerminal = false } = running;
  let [out, err] = ["", ""];
  const exit = await run(args, {
    // A folder that is not there: no key of the developer's own service is found.
    env: {
      DATA_DIR: path.join(tmpdir(), "onym-none"),
      ...(url !== undefined && { ONYM_URL: url }),
      ...(key !== null && { ONYM_KEY: key }),
      ...env,
    },
    stdin: typeof stdin === "string" || stdin instanceof Uint8Array ? only(stdin) : stdin,
    out: async (text) => void (out += text),
    err: (text) => void (err += text),
    showsProgress: isTerminal,
    ask:
      answer === null
        ? null
        : async (question) => {
            err += `${question}\n`;
            return answer;
          },
  });
  return { exit, out, err };
}

async function* only(chunk: string | Uint8Array): AsyncGenerator<string | Uint8Array> {
  yield chunk;
}

/** The address of a port where nothing listens. */
export async function closedPort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}

export const json = (ran: Ran): unknown => JSON.parse(ran.out) as unknown;
export const jsonLines = ({ out }: Ran): readonly unknown[] =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);

/** A folder for the tests of the `describe` that it is called in; answers how to write a file into it. */
export function useFolder(): {
  readonly path: () => string;
  readonly file: (name: string, content: string | Uint8Array) => string;
} {
  let folder = "";
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "onym-cli-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  return {
    path: () => folder,
    file: (name, content) => {
      const file = path.join(folder, name);
      writeFileSync(file, content);
      return file;
    },
  };
}
