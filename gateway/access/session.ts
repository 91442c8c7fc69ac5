import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { KeyId } from "../../core/ids.js";

/** What a cookie of the console holds: which key logged in, and never the key. */
export interface Session {
  readonly keyId: KeyId;
  /** Of the key as it was; another one under the same id is not the same key. */
  readonly keyHash: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface Sessions {
  seal(session: Session): string;
  /** Null: not ours, of another installation, or changed. When it ends is the caller's question. */
  open(sealed: string): Session | null;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Far above what `seal` makes, so that nobody has us decrypt much. */
const SEALED_LENGTH_MAX = 1_024;

/** `secret` is that of the installation, so that every gateway of it opens what another one sealed, and no other installation can. */
export function createSessions(secret: Buffer): Sessions {
  const key = Buffer.from(hkdfSync("sha256", secret, "", "onym console session", 32));
  return {
    seal: (session) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      const sealed = Buffer.concat([cipher.update(JSON.stringify(session), "utf8"), cipher.final()]);
      return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString("base64url");
    },
    open: (sealed) => {
      const bytes = sealed.length > SEALED_LENGTH_MAX ? Buffer.alloc(0) : Buffer.from(sealed, "base64url");
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
        return JSON.parse(Buffer.concat(text).toString("utf8")) as Session;
      } catch {
        return null;
      }
    },
  };
}
