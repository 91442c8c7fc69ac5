/** Of one key. */
export const ORIGINS_MAX = 50;
export const ORIGIN_RULE =
  "must be an origin as a browser sends it, such as https://shop.example: scheme, host in lower case, and the port if it is not the usual one";

const FORM = /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** Whether a browser could send it. Another spelling of the same place would never match what browsers do send. */
export const isOrigin = (text: string): boolean =>
  FORM.test(text) && URL.canParse(text) && new URL(text).origin === text;
