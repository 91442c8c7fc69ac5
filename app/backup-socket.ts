import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { isAbsolute, join } from "node:path";
import { text } from "node:stream/consumers";
import type { FoundCopied } from "../store/embedded/database.js";
import type { Lifecycle } from "./lifecycle.js";

/** What was copied, or why nothing was. */
export type BackupAnswer = FoundCopied | { readonly error: string };

const socketOf = (dataDir: string): string => join(dataDir, "backup.sock");
/** The path of a file is all that is ever asked. */
const ASKED_BYTES_MAX = 8_192;
const ASKED_MS_MAX = 5_000;

/**
 * Only this process may open the store, so it makes the backups itself; who may open this socket in its folder may ask for one. So
 * neither a key nor the network can.
 */
export async function listenForBackups(deps: {
  readonly dataDir: string;
  readonly copyTo: (file: string) => Promise<FoundCopied>;
  readonly lifecycle: Lifecycle;
  readonly onError: (message: string, error: unknown) => void;
}): Promise<void> {
  const { dataDir, copyTo, lifecycle, onError } = deps;
  const path = socketOf(dataDir);
  const answerTo = async (file: string): Promise<BackupAnswer> => {
    if (!isAbsolute(file)) return { error: "the path of the file must be absolute" };
    return copyTo(file).catch((error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }));
  };
  const serve = async (socket: Socket): Promise<void> => {
    try {
      const file = await readAll(socket);
      socket.setTimeout(0);
      socket.end(JSON.stringify(await answerTo(file)));
    } catch {
      socket.destroy();
    }
  };
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.setTimeout(ASKED_MS_MAX, () => socket.destroy());
    void serve(socket);
  });
  try {
    // The folder is ours alone, so a socket that stands there is what a killed process left.
    rmSync(path, { force: true });
    await listenOn(server, path);
    chmodSync(path, 0o600);
  } catch (error) {
    server.close();
    onError(`no backup can be made while the service runs: ${path} cannot be opened`, error);
    return;
  }
  lifecycle.opened("backups", async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  });
}

async function readAll(socket: Socket): Promise<string> {
  let bytes = 0;
  const chunks: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ASKED_BYTES_MAX) throw new Error("too much was asked");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const listenOn = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });

/** Asks the process that runs on the folder; null if none does. */
export async function askForBackup(dataDir: string, file: string): Promise<BackupAnswer | null> {
  const socket = connect({ path: socketOf(dataDir), allowHalfOpen: true });
  try {
    await new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.once("connect", resolve);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ECONNREFUSED") return null;
    throw error;
  }
  socket.end(file);
  const answer = await text(socket);
  return answer === "" ? { error: "the service was stopped" } : (JSON.parse(answer) as BackupAnswer);
}
