import { RE2JS } from "re2js";
import { spend } from "./fuel.js";

/** A regular expression of the client's, run in time linear to its string. */
export interface Pattern {
  test(text: string): boolean;
  /** Ajv keeps patterns apart by this; without it every pattern of a schema becomes the first one. */
  toString(): string;
  /** Instructions of its program: with the string's length this bounds the time. */
  readonly size: number;
}

/** Worst measured: 18 ns for each instruction and character, when no automaton can be kept. */
const STEP_NS = 20;
const START_NS = 200;

/** Throws an Error whose message says what is wrong. Unanchored, case-sensitive, `$` only at the very end, as ECMA-262 with `u`. */
export function compilePattern(source: string): Pattern {
  const program = RE2JS.compile(toRe2(source));
  const size = program.programSize();
  return {
    test: (text) => {
      spend(START_NS + text.length * size * STEP_NS);
      return program.test(text);
    },
    toString: () => `re2js:${source}`,
    size,
  };
}

/** ECMA-262's white space, of which RE2 knows the first six; and all that is none. */
const SPACE = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NO_SPACE =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}" +
  "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const NO_LINE_END = "[^\\n\\r\\x{2028}\\x{2029}]";
const ANYTHING = "[\\x{0}-\\x{10ffff}]";

/** Escapes that mean the same in both, also within brackets. */
const SAME_ESCAPES = new Set("dDwWtnvfr^$\\.*+?()[]{}|/");
/** Needless but common escapes (`\-`, `\_`, `\@`): the character itself. */
const LOOSE_ESCAPE = /\\([ !"#%&',\-:;<=>@_`~])/;
const PAIR = /\\[\s\S]/g;

const TOKEN =
  /\\u\{[0-9a-fA-F]+\}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[pP]\{[^}]*\}|\\[\s\S]|\(\?(?:<(?![=!])|:)?|\[\^\]|\[\]|[\s\S]/gu;

/** Says in RE2's dialect what the pattern says in ECMA-262's; refuses what RE2 cannot do or would understand otherwise. */
export function toRe2(source: string): string {
  const strict = source.replace(PAIR, (pair) => (LOOSE_ESCAPE.test(pair) ? hex(pair.charCodeAt(1)) : pair));
  try {
    void new RegExp(strict, "u");
  } catch {
    throw new Error("is not a regular expression of ECMA-262 in Unicode mode");
  }
  let inBrackets = false;
  return strict.replace(TOKEN, (token) => {
    if (token.length > 1) return token.startsWith("\\") ? escape(token, inBrackets) : group(token, inBrackets);
    if (inBrackets) {
      if (token === "]") inBrackets = false;
      return token === "[" ? "\\[" : token;
    }
    if (token === "[") inBrackets = true;
    return token === "." ? NO_LINE_END : token;
  });
}

const hex = (code: number): string => `\\x{${code.toString(16)}}`.replace(/\{(..)\}/, "$1");

function group(token: string, inBrackets: boolean): string {
  // Within brackets these are characters that merely stand side by side; `[^]` and `[]` cannot stand there whole.
  if (inBrackets) return token.replace("[", "\\[");
  if (token === "[^]") return ANYTHING;
  if (token === "[]") throw new Error("must not hold empty brackets");
  if (token === "(?") throw new Error("must not look ahead or behind, nor change modes");
  return token;
}

function escape(token: string, inBrackets: boolean): string {
  const kind = token[1]!;
  if (kind === "u" || kind === "x") return codePoint(token);
  if (kind === "p" || kind === "P") return property(token);
  if (kind === "s") return inBrackets ? SPACE : `[${SPACE}]`;
  if (kind === "S") return inBrackets ? NO_SPACE : `[${NO_SPACE}]`;
  if (kind === "b") return inBrackets ? "\\x08" : token;
  if (kind === "B") return token;
  if (kind === "0") return "\\x00";
  if (kind === "k" || (kind >= "1" && kind <= "9")) throw new Error("must not refer back to a group");
  if (SAME_ESCAPES.has(kind)) return token;
  throw new Error(`must not use ${token}`);
}

function codePoint(token: string): string {
  const codes = token.match(/[0-9a-fA-F]{2,}|(?<=\{)[0-9a-fA-F]/g)!.map((digits) => Number.parseInt(digits, 16));
  const code = codes.length === 2 ? String.fromCharCode(...codes).codePointAt(0)! : codes[0]!;
  if (code >= 0xd800 && code <= 0xdfff) throw new Error("must not name half of a surrogate pair");
  return `\\x{${code.toString(16)}}`;
}

/** Long names of general categories, and the short ones. */
const CATEGORIES: ReadonlyMap<string, string> = new Map(
  (
    "Letter:L Uppercase_Letter:Lu Lowercase_Letter:Ll Titlecase_Letter:Lt Modifier_Letter:Lm Other_Letter:Lo Mark:M " +
    "Nonspacing_Mark:Mn Spacing_Mark:Mc Enclosing_Mark:Me Number:N Decimal_Number:Nd Letter_Number:Nl Other_Number:No " +
    "Punctuation:P Connector_Punctuation:Pc Dash_Punctuation:Pd Open_Punctuation:Ps Close_Punctuation:Pe " +
    "Initial_Punctuation:Pi Final_Punctuation:Pf Other_Punctuation:Po Symbol:S Math_Symbol:Sm Currency_Symbol:Sc " +
    "Modifier_Symbol:Sk Other_Symbol:So Separator:Z Space_Separator:Zs Line_Separator:Zl Paragraph_Separator:Zp Control:Cc " +
    "Format:Cf"
  )
    .split(" ")
    .map((pair) => pair.split(":") as [string, string]),
);
const SHORT_CATEGORIES = new Set(CATEGORIES.values());

/** Only what both sides call the same set of characters: general categories and scripts. */
function property(token: string): string {
  const [name, value] = token.slice(3, -1).split("=") as [string, string?];
  if (name === "Script" || name === "sc") return `${token.slice(0, 3)}${value ?? ""}}`;
  const category = name === "General_Category" || name === "gc" ? (value ?? "") : name;
  const short = CATEGORIES.get(category) ?? category;
  if (!SHORT_CATEGORIES.has(short)) throw new Error(`must not use ${token}`);
  return `${token.slice(0, 3)}${short}}`;
}
