/** Columns that grow: a profile of a million links must fit into memory, and objects take ten times the bytes. */

/** Numbers; their room doubles when it is full. */
export function createNumbers<A extends Uint32Array | Float64Array>(create: (length: number) => A) {
  let values = create(1_024);
  let length = 0;
  return {
    push: (value: number): void => {
      if (length === values.length) {
        const larger = create(2 * length);
        larger.set(values);
        values = larger;
      }
      values[length++] = value;
    },
    at: (n: number): number => values[n]!,
    done: (): A => values.subarray(0, length) as A,
  };
}

export const uint32s = (length: number): Uint32Array => new Uint32Array(length);
export const float64s = (length: number): Float64Array => new Float64Array(length);

/** Bytes that follow each other. */
function createBytes() {
  let bytes = Buffer.allocUnsafeSlow(1_024);
  let length = 0;
  return {
    /** Room for so many more; answers where it begins. */
    add: (more: number): number => {
      if (length + more > bytes.length) bytes = Buffer.concat([bytes], 2 * (length + more));
      length += more;
      return length - more;
    },
    all: (): Buffer => bytes,
  };
}

export interface Texts {
  readonly push: (text: string) => void;
  readonly at: (n: number) => string;
}

/** Any texts, as bytes. */
export function createTexts(): Texts {
  const bytes = createBytes();
  const ends = createNumbers(uint32s);
  ends.push(0);
  let count = 0;
  return {
    push: (text) => {
      const size = Buffer.byteLength(text);
      const start = bytes.add(size);
      bytes.all().write(text, start);
      ends.push(start + size);
      count += 1;
    },
    at: (n) => {
      if (n >= count) throw new RangeError("There is no such text.");
      return bytes.all().toString("utf8", ends.at(n), ends.at(n + 1));
    },
  };
}

const UUID_BYTES = 16;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** What follows is the position of a text that is no UUID; one that begins with these bytes is kept as such a text. */
const NO_UUID = 0xffffffff;

/** Ids, nearly all of them UUIDs of 16 bytes; the others are few different ones (`identify`, an API key's id). */
export function createIds(): Texts {
  const bytes = createBytes();
  const others = new Map<string, number>();
  const names: string[] = [];
  const numberOf = (text: string): number => {
    const known = others.get(text);
    if (known !== undefined) return known;
    others.set(text, names.length);
    return names.push(text) - 1;
  };
  return {
    push: (text) => {
      const at = bytes.add(UUID_BYTES);
      if (UUID.test(text) && !text.startsWith("ffffffff")) bytes.all().write(text.replaceAll("-", ""), at, "hex");
      else {
        bytes.all().writeUInt32BE(NO_UUID, at);
        bytes.all().writeUInt32BE(numberOf(text), at + 4);
      }
    },
    at: (n) => {
      const at = n * UUID_BYTES;
      if (bytes.all().readUInt32BE(at) === NO_UUID) return names[bytes.all().readUInt32BE(at + 4)]!;
      const hex = bytes.all().toString("hex", at, at + UUID_BYTES);
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  };
}
