import type { Answered } from "../route.js";

/** What the examples of the routes are about: one customer, seen in a shop. */
export const EMAIL = { namespace: "email", value: "ada@example.com" };
export const COOKIE = { namespace: "cookie_id", value: "c-99" };
export const USER = { namespace: "user_id", value: "u-2002" };
export const DEVICE = { namespace: "device_id", value: "phone-2" };

export const SCHEMA_ID = "signup";
export const SIGNUP = {
  type: "object",
  required: ["email"],
  properties: {
    email: { type: "string", format: "email", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
  },
};

/** Of a key that exists only in the reference. */
export const KEY_ID = "aB3dE6gH9k";
const SOME_ID = "0197a000-0000-7000-8000-000000000001";
export const answered = (operationId: string, pointer: string, shown: string = SOME_ID): Answered => ({
  operationId,
  pointer,
  shown,
});

/** Stands in the reference for a collect-only key. */
export const WRITE_KEY_SHOWN = "onym_...";
