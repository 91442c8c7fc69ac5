import type { ErrorItem } from "../errors.js";
import type { SchemaDocument } from "./document.js";
import { FORMATS } from "./validation/formats.js";

/** All keywords of both drafts, and our annotations. */
const KNOWN = (
  "$schema $id $anchor $dynamicAnchor $ref $dynamicRef $defs $comment $vocabulary definitions title description default " +
  "examples deprecated readOnly writeOnly type enum const format pattern multipleOf maximum exclusiveMaximum minimum " +
  "exclusiveMinimum maxLength minLength maxItems minItems uniqueItems maxContains minContains maxProperties minProperties " +
  "required dependentRequired dependentSchemas dependencies properties patternProperties additionalProperties propertyNames " +
  "unevaluatedProperties items prefixItems additionalItems unevaluatedItems contains allOf anyOf oneOf not if then else " +
  "contentEncoding contentMediaType contentSchema x-identity x-trait x-traits"
).split(" ");
const KNOWN_SET = new Set(KNOWN);
/** Words in their own right, or of other dialects, that only look like misspelt keywords. */
const OTHERS = new Set(["id", "comment", "example", "time", "when", "cost", "container"]);

/** Those that assert, and some that only look like one of them. */
const KNOWN_FORMATS = [
  ...Object.keys(FORMATS),
  "idn-email",
  "idn-hostname",
  "iri",
  "iri-reference",
  "uint32",
  "uint64",
];

export interface Spelling {
  /** Words that are nearly a keyword or a format: what they were to say would not be heeded, in silence. */
  readonly errors: readonly ErrorItem[];
  /** Words that are no keyword at all. */
  readonly warnings: readonly ErrorItem[];
}

const WARNINGS_MAX = 100;

/** Looks only where keywords stand: names of properties may be anything. */
export function checkSpelling({ paths }: SchemaDocument): Spelling {
  const errors: ErrorItem[] = [];
  const warnings: ErrorItem[] = [];
  for (const [schema, at] of paths) {
    const format = nearestFormat(schema["format"]);
    if (format !== null) errors.push({ path: `${at}.format`, message: `is not a format; did you mean ${format}?` });
    for (const word of Object.keys(schema)) {
      if (KNOWN_SET.has(word)) continue;
      const path = `${at}.${word}`;
      const nearest = nearestKeyword(word);
      if (nearest !== null) errors.push({ path, message: `is not a keyword; did you mean ${nearest}?` });
      else if (warnings.length < WARNINGS_MAX) warnings.push({ path, message: "is not a keyword, and is ignored" });
    }
  }
  return { errors, warnings };
}

/** Spelt with other cases, dashes or signs it is the same word. */
const lettersOf = (word: string): string => word.toLowerCase().replace(/[^a-z]/g, "");
const LETTERS = KNOWN.map((keyword) => ({ keyword, letters: lettersOf(keyword) }));

/** How many letters may be wrong for a word still to be meant as this keyword. */
const mistakesIn = ({ length }: string): number => (length < 4 ? 0 : length < 9 ? 1 : 2);

/** The keyword that a word was probably meant to be; null when it is a word of its own. */
function nearestKeyword(word: string): string | null {
  if (OTHERS.has(word)) return null;
  const given = lettersOf(word);
  const isExtension = /^x[-_]/i.test(word);
  let nearest: string | null = null;
  let least = Infinity;
  for (const { keyword, letters } of LETTERS) {
    // Vendors spell their own annotations like keywords: `x-examples`, `x-deprecated`.
    if (isExtension && !keyword.startsWith("x-")) continue;
    const most = Math.min(mistakesIn(letters), least - 1);
    const distance = Math.abs(given.length - letters.length) > most ? Infinity : mistakesBetween(given, letters);
    if (distance <= most) [nearest, least] = [keyword, distance];
  }
  return nearest;
}

/** Null for a format that is known, or that is a word of its own. */
function nearestFormat(format: unknown): string | null {
  if (typeof format !== "string" || format.length > FORMAT_CHARACTERS_MAX || KNOWN_FORMATS.includes(format))
    return null;
  const isNear = (known: string): boolean => known.length > 4 && mistakesBetween(format.toLowerCase(), known) <= 1;
  return KNOWN_FORMATS.find(isNear) ?? null;
}
const FORMAT_CHARACTERS_MAX = 64;

/** Letters put in, left out, mistaken, or swapped with the next (Damerau-Levenshtein, each place changed once). */
function mistakesBetween(a: string, b: string): number {
  let [older, old]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const steps = [row[j - 1]! + 1, old![j]! + 1, old![j - 1]! + (isSame ? 0 : 1)];
      row.push(Math.min(...steps, isSwapped ? older![j - 2]! + 1 : Infinity));
    }
    [older, old] = [old!, row];
  }
  return old!.at(-1)!;
}
