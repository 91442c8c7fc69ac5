import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** A file as it is sent: both ways are made once, at the start. */
export interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

export interface ConsoleFiles {
  readonly page: ConsoleFile;
  /** By name; each name holds a hash of the content. */
  readonly assets: ReadonlyMap<string, ConsoleFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".html": "text/html; charset=utf-8",
};

const BUILT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../console");

/** Reads the built console into memory; null: it was not built. */
export function readConsole(folder = BUILT): ConsoleFiles | null {
  const page = path.join(folder, "index.html");
  if (!existsSync(page)) return null;
  const assets = path.join(folder, "assets");
  const names = readdirSync(assets).filter((name) => TYPES[path.extname(name)] !== undefined);
  return {
    page: readOne(page),
    assets: new Map(names.map((name) => [name, readOne(path.join(assets, name))])),
  };
}

function readOne(file: string): ConsoleFile {
  const plain = readFileSync(file);
  return { type: TYPES[path.extname(file)]!, plain, gzipped: gzipSync(plain, { level: 9 }) };
}
