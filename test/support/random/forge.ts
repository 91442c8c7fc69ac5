import { crc32 } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A well-formed key of an id that exists, with a secret that nobody was given. */
export function forge(keyId: string): string {
  const body = `onym_${keyId}_${"0".repeat(32)}`;
  let rest = crc32(body);
  let checksum = "";
  for (let i = 0; i < 6; i++) {
    checksum = ALPHABET[rest % 62]! + checksum;
    rest = Math.floor(rest / 62);
  }
  return body + checksum;
}
