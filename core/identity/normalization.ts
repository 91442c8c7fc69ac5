import { parsePhoneNumberFromString, type PhoneNumber } from "libphonenumber-js/min";
import type { Normalization } from "../catalog/catalog.js";

/** The one form of all spellings of a value; null for a value that is not what the namespace holds. Doing it twice changes nothing. */
export const NORMALIZE: Readonly<Record<Normalization, (value: string) => string | null>> = {
  none: (value) => value,
  email: (value) => {
    const text = value.trim().toLowerCase();
    return EMAIL.test(text) ? text : null;
  },
  phone: normalizePhone,
};

/** Whoever can receive mail may have any characters in the address; what separates addresses or names is not in one. */
const EMAIL = /^[^\s\p{Cc}<>,;"@]+@[^\s\p{Cc}<>,;"@]+$/u;

/** `00` stands for `+` nearly everywhere; `0011` is Australia's own prefix, and no country's code begins with 11. */
const INTERNATIONAL_PREFIX = /^00(?!\s*11)/;
/** Other parameters of a telephone URI would be read past, and the extension behind them too. */
const OTHER_PARAMETER = /;(?!ext=)/i;
const SPELLINGS_MAX = 5;

/**
 * `+` and digits, and `;ext=` with the extension, which belongs to another person than the number alone. Without a country code a
 * number is ambiguous, so it stays as it was sent.
 */
function normalizePhone(value: string): string | null {
  const sent = unquoted(value);
  // Invisible marks come with numbers that are copied from an address book.
  const text = sent
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .replace(/^tel:/i, "")
    .replace(/\s+/g, " ")
    .trim();
  if (OTHER_PARAMETER.test(text)) return null;
  if (text.startsWith("+")) return internationalForm(text);
  const isPrefixed = INTERNATIONAL_PREFIX.test(text);
  const international = isPrefixed ? internationalForm(text.replace(INTERNATIONAL_PREFIX, "+")) : null;
  if (international !== null) return international;
  // Any calling code will do: the question is only whether it reads like a number.
  const national = parsePhoneNumberFromString(text, { defaultCallingCode: "49", extract: false });
  return national !== undefined && national.nationalNumber.length >= DIGITS_MIN ? sent : null;
}

const DIGITS_MIN = 3;
/** Of E.164. A number within them may be one though the library's list of numbering plans does not have it. */
const INTERNATIONAL = /^\+\d{7,15}$/;

/** Repeated until it stands, because the library takes one prefix away at a time: `(0)` in `+44 (0)20 ...`. */
function internationalForm(text: string): string | null {
  let before = text;
  for (let spelling = 0; spelling < SPELLINGS_MAX; spelling += 1) {
    const parsed = parsePhoneNumberFromString(before, { extract: false });
    if (parsed === undefined || !INTERNATIONAL.test(parsed.number)) return null;
    const after = formOf(parsed);
    if (after === before) return after;
    before = after;
  }
  return null;
}

const formOf = ({ number, ext }: PhoneNumber): string => (ext === undefined ? number : `${number};ext=${ext}`);

const QUOTES = new Set(['"', "'", "`"]);

/** Trimmed, and without the quotes that some senders leave around a value. */
export function unquoted(value: string): string {
  let text = value.trim();
  while (text.length >= 2 && QUOTES.has(text[0]!) && text.at(-1) === text[0]) text = text.slice(1, -1).trim();
  return text;
}
