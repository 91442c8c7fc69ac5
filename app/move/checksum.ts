import { createHash } from "node:crypto";

/** Rows, counted and added up: the same for the same rows, in whatever order they come. */
export interface Sum {
  readonly rows: number;
  readonly checksum: string;
}

export interface Summing {
  add(row: unknown): void;
  sum(): Sum;
}

/** Of 128 bits, so that it is added without care for what is carried out. */
const MODULUS = 1n << 128n;

export function createSumming(): Summing {
  let rows = 0;
  let total = 0n;
  return {
    add: (row) => {
      const digest = createHash("sha256").update(canonical(row)).digest();
      total = (total + (digest.readBigUInt64BE(0) << 64n) + digest.readBigUInt64BE(8)) % MODULUS;
      rows += 1;
    },
    sum: () => ({ rows, checksum: total.toString(16).padStart(32, "0") }),
  };
}

/** Injective, and the same for the same content: fields sorted, bytes as base64, maps as lists. */
function canonical(value: unknown): string {
  if (Buffer.isBuffer(value)) return `b"${value.toString("base64")}"`;
  if (value instanceof Map) return `m${canonical([...value].toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "u";
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(",")}}`;
}
