import { copyFile, mkdir, open, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Flips bits of one byte of a file. */
export async function flip(file: string, position: number, bits = 1): Promise<void> {
  const handle = await open(file, "r+");
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, position);
  buffer[0]! ^= bits;
  await handle.write(buffer, 0, 1, position);
  await handle.close();
}

/** A copy of a store's files as a crash would leave them. */
export async function copyStore(dataDir: string, copy: string): Promise<string> {
  await mkdir(copy);
  for (const name of await readdir(dataDir))
    if (name.startsWith("onym.db") && !name.endsWith("-shm")) await copyFile(join(dataDir, name), join(copy, name));
  return copy;
}
