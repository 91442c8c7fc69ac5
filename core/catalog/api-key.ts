import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import type { KeyId } from "../ids.js";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const FORM = /^onym_([0-9A-Za-z]{10})_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

const random62 = (length: number): string => Array.from({ length }, () => ALPHABET[randomInt(62)]).join("");

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** `onym_<id 10>_<secret 32><crc 6>`: 190 bits of secret. The whole key is shown once and only its hash is kept. */
export function mintKey(): { readonly key: string; readonly keyId: KeyId; readonly hash: string } {
  const keyId = random62(10) as KeyId;
  const body = `onym_${keyId}_${random62(32)}`;
  const key = body + checksum(body);
  return { key, keyId, hash: hashKey(key) };
}

/** SHA-256 as base64. A fast hash is right for a random secret of 190 bits; a slow one would only slow every request. */
export const hashKey = (key: string): string => hash("sha256", key, "base64");

/** The key id, or null if the text cannot be a key: so a typing error costs no look-up. */
export function keyIdOf(key: string): KeyId | null {
  const parts = FORM.exec(key);
  if (parts === null || checksum(key.slice(0, -CHECKSUM_LENGTH)) !== key.slice(-CHECKSUM_LENGTH)) return null;
  return parts[1] as KeyId;
}
