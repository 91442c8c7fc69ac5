import { fullFormats } from "ajv-formats/dist/formats.js";
import type { Format } from "ajv";
import { spend } from "../limits/fuel.js";

/** Worst measured: 30 ns for each character. All of these take time linear to the string; a test tries them with hostile ones. */
const CHARACTER_NS = 60;
const START_NS = 200;

type Test = (text: string) => boolean;

const counted = (test: Test): Format => ({
  type: "string",
  validate: (text: string) => {
    spend(START_NS + text.length * CHARACTER_NS);
    return test(text);
  },
});

/** The library's own expression for `url` takes time that grows with the square of the string. */
const isUrl: Test = (text) => /^(?:https?|ftp):\/\//i.test(text) && URL.canParse(text);

/** The test of a format for strings; null for the numeric ones and for those that assert nothing. */
function testOf(format: Format): Test | null {
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === "function") return format;
  if (typeof format !== "object" || format.type === "number") return null;
  const { validate } = format;
  if (validate instanceof RegExp) return (text) => validate.test(text);
  return typeof validate === "function" ? (validate as Test) : null;
}

/** Formats that assert: those of ajv-formats, counted. Unknown ones are annotations, as the standard has it. */
export const FORMATS: Readonly<Record<string, Format>> = Object.fromEntries(
  Object.entries(fullFormats).map(([name, format]): [string, Format] => {
    const test = name === "url" ? isUrl : testOf(format);
    return [name, test === null ? format : counted(test)];
  }),
);
