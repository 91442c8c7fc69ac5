import { readFile } from "node:fs/promises";
import { welcome } from "../../../app/start/first-start.js";

/** A fenced block of a page. */
export interface Block {
  /** Its heading; the second block of its language under a heading ends in " 2". */
  readonly name: string;
  readonly language: string;
  readonly text: string;
  /** Heading and text before the block, or the text since the block before it, on one line. */
  readonly said: string;
}

const DOCS = new URL("../../../../docs/", import.meta.url);
const FENCED = /^```(\w+)\n(.*?)^```$/gms;

export const pageOf = (name: string): Promise<string> => readFile(new URL(name, DOCS), "utf8");

/** What the first start prints for the shell. */
export const firstCommands = (url: string, key: string): string =>
  welcome(url, { text: key }, new Date().toISOString())
    .replace(/^[^#]*/, "")
    .replaceAll("curl -sS", "curl -sSf");

export const blocksOf = (page: string): readonly Block[] => page.split(/^(?=#+ )/m).flatMap(blocksOfSection);

function blocksOfSection(section: string): readonly Block[] {
  const heading = section.slice(0, section.indexOf("\n")).replace(/^#+ /, "");
  let end = 0;
  return [...section.matchAll(FENCED)].map(({ 0: fence, 1: language, 2: text, index }, n) => {
    const said = section.slice(end, index).replace(/\s+/g, " ");
    end = index + fence.length;
    return { name: n === 0 ? heading : `${heading} ${n + 1}`, language: language!, text: text!, said };
  });
}

/** Names behind a `$`. */
export const parametersOf = (text: string): readonly string[] =>
  [...text.matchAll(/\$(\w+)/g)].map(([, name]) => name!);

export interface StyleRule {
  readonly kind: "node" | "relationship";
  readonly name: string;
  /** Properties that its caption shows. */
  readonly shown: readonly string[];
}

/** The rules of a style file for one label or type each. */
export const styleRulesOf = (style: string): readonly StyleRule[] =>
  [...style.matchAll(/^(node|relationship)\.(\w+) \{(.*?)^\}/gms)].map(([, kind, name, body]) => ({
    kind: kind as StyleRule["kind"],
    name: name!,
    shown: [...body!.matchAll(/\{(\w+)\}/g)].map(([, property]) => property!),
  }));
