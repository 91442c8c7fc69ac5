import type { Flood } from "../flood.js";
import { requestOf } from "../wire.js";

export const CONNECTIONS: readonly Flood[] = [
  {
    name: "slow senders",
    run: (wire, { sender }) => {
      const request = requestOf("POST", "/v1/collect", sender, " ".repeat(200_000));
      wire.trickle(500, request.slice(0, request.length - 100_000));
    },
  },
  {
    name: "slow heads",
    run: (wire) => wire.trickle(500, "POST /v1/collect HTTP/1.1\r\nHost: a\r\nX-Slow: "),
  },
  {
    name: "new connections",
    run: (wire, { viewer }) =>
      wire.hammer(64, () => requestOf("GET", "/v1/datasets", viewer, undefined, "Connection: close\r\n")),
  },
  {
    name: "a thousand connections",
    run: (wire, { viewer }) => wire.hammer(1_000, () => requestOf("GET", "/v1/datasets", viewer)),
  },
  {
    name: "large heads",
    run: (wire, { viewer }) => {
      const header = `X-Large: ${"x".repeat(15_000)}\r\n`;
      wire.hammer(64, () => requestOf("GET", "/v1/datasets", viewer, undefined, header));
    },
  },
];
