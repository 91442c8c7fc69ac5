import { cpSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { copyJars, installed, JAVA_PACKAGES, requireProgram, run, type Progress } from "../servers/install.js";
import type { Sdk } from "./sdks.js";

/** How a program is built is part of what it is. */
const RECIPE = fileURLToPath(import.meta.url);
const SOURCE = path.resolve(path.dirname(RECIPE), "../../../scripts/clients/sdk");

/** How a program is started; what it is to do follows as one more argument. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  /** What the program is to know beside the service. */
  readonly extra: object;
}

interface Language {
  /** In its folder of the source; the first pins the versions of all that it loads. */
  readonly files: (sdk: Sdk) => readonly string[];
  /** Makes the program out of these files, which lie in the folder. */
  readonly build: (folder: string) => Promise<void>;
  readonly program: (sdk: Sdk, folder: string) => Program;
}

const inFolder = (name: string, files: readonly string[]): readonly string[] =>
  files.map((file) => path.join(name, file));

const npm = async (folder: string): Promise<void> =>
  run(requireProgram("npm", "npm"), [
    "ci",
    "--ignore-scripts",
    "--omit=optional",
    "--no-progress",
    `--prefix=${folder}`,
  ]);

const pythonOf = (folder: string): string => path.join(folder, "venv", "bin", "python");

const LANGUAGES: Readonly<Record<Sdk["language"], Language>> = {
  node: {
    files: ({ name }) => inFolder(name, ["package-lock.json", "package.json", "client.mjs"]),
    build: npm,
    program: (_sdk, folder) => ({
      file: process.execPath,
      args: [path.join(folder, "client.mjs")],

      extra: {},
    }),
  },
  browser: {
    files: () => inFolder("browser", ["package-lock.json", "package.json", "client.mjs"]),
    build: npm,
    program: ({ loads }, folder) => ({
      file: process.execPath,
      args: [path.join(folder, "client.mjs")],

      extra: { sdk: loads, browser: requireProgram("chromium", "chromium") },
    }),
  },
  python: {
    files: ({ name }) => [...inFolder(name, ["requirements.txt"]), ...inFolder("python", ["client.py"])],
    build: async (folder) => {
      await run(requireProgram("python3", "python3-venv"), ["-m", "venv", path.join(folder, "venv")]);
      const requirements = ["--require-hashes", "--requirement", path.join(folder, "requirements.txt")];
      const flags = ["--quiet", "--disable-pip-version-check", "--no-compile"];
      await run(pythonOf(folder), ["-m", "pip", "install", ...flags, ...requirements]);
    },
    program: ({ loads }, folder) => ({
      file: pythonOf(folder),
      args: [path.join(folder, "client.py"), loads],
      extra: {},
    }),
  },
  go: {
    files: ({ name }) => inFolder(name, ["go.sum", "go.mod", "main.go"]),
    build: async (folder) => {
      const inside = `cd "$0" && exec "$1" build -mod=readonly -o client .`;
      await run("sh", ["-c", inside, folder, requireProgram("go", "golang-go")]);
    },
    program: (_sdk, folder) => ({ file: path.join(folder, "client"), args: [], extra: {} }),
  },
  java: {
    files: ({ name }) => inFolder(name, ["pom.xml", "Client.java"]),
    build: async (folder) => {
      await copyJars(path.join(folder, "pom.xml"), path.join(folder, "jars"));
      const classes = ["-nowarn", "-cp", path.join(folder, "jars", "*"), "-d", folder];
      await run(requireProgram("javac", JAVA_PACKAGES), [...classes, path.join(folder, "Client.java")]);
    },
    program: (_sdk, folder) => ({
      file: requireProgram("java", JAVA_PACKAGES),
      args: ["-Xmx256m", "-cp", `${path.join(folder, "jars", "*")}:${folder}`, "Client"],

      extra: {},
    }),
  },
};

/** Installs what the SDK's program needs, outside of the repository and once for each content of its files. */
export async function install(sdk: Sdk, progress: Progress): Promise<Program> {
  const { files, build, program } = LANGUAGES[sdk.language];
  const sources = files(sdk).map((file) => path.join(SOURCE, file));
  const title = sdk.language === "browser" ? "browser" : sdk.name;
  const folder = await installed(`client-${title}`, [RECIPE, ...sources], progress, async (unfinished) => {
    for (const source of sources) cpSync(source, path.join(unfinished, path.basename(source)));
    await build(unfinished);
  });
  return program(sdk, folder);
}
