import { fresh, type Flood } from "../flood.js";
import { requestOf } from "../wire.js";

const address = (): string => `X-Forwarded-For: 10.${fresh() % 250}.${fresh() % 250}.${fresh() % 250}\r\n`;
const BLOCKED = 1_000;

export const ACCESS: readonly Flood[] = [
  {
    name: "wrong secrets",
    run: (wire, { sender }) => {
      const wrong = [sender.slice(0, -4), "onym_x", `${sender}x`];
      wire.hammer(64, () => requestOf("GET", "/v1/namespaces", `${wrong[fresh() % 3]!}${fresh() % 1_000}`));
    },
  },
  {
    name: "wrong secrets from many addresses",
    run: (wire, { sender }) =>
      wire.hammer(64, () =>
        requestOf("GET", "/v1/namespaces", `${sender.slice(0, -4)}${fresh()}`, undefined, address()),
      ),
  },
  {
    name: "wrong operator keys",
    run: (wire) =>
      wire.hammer(64, () => requestOf("GET", "/v1/workspaces", `operator-key-${fresh()}`, undefined, address())),
  },
  {
    name: "namespaces by use",
    run: (wire, { sender }) =>
      wire.hammer(32, () => {
        const identifiers = [{ namespace: `n${fresh()}`, value: "x" }];
        return requestOf("POST", "/v1/identify", sender, { identifiers });
      }),
  },
  {
    name: "lists of blocked values",
    run: (wire, { owner }) => {
      wire.hammer(4, () => {
        const blocked = Array.from({ length: BLOCKED }, (_, n) => `${n} ${"x".repeat(200)} ${fresh()}`);
        return requestOf("PUT", `/v1/namespaces/b${fresh() % 200}`, owner, { blocked });
      });
      wire.hammer(8, () => {
        const identifiers = [{ namespace: `b${fresh() % 200}`, value: `v${fresh()}` }];
        return requestOf("POST", "/v1/identify", owner, { identifiers });
      });
    },
  },
  {
    name: "new keys",
    run: (wire, { owner }) =>
      wire.hammer(16, () =>
        fresh() % 2 === 0
          ? requestOf("POST", "/v1/keys", owner, { role: "viewer" })
          : requestOf("GET", "/v1/keys?limit=100", owner),
      ),
  },
];
