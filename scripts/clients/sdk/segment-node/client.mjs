import { createInterface } from "node:readline";
import { Analytics } from "@segment/analytics-node";

const { url, key, options } = JSON.parse(process.argv[2]);
const analytics = new Analytics({ writeKey: key, host: url, flushInterval: 200, flushAt: 100, ...options });
const settled = [];
const gaveUp = [];
let delivered = 0;

for await (const line of createInterface({ input: process.stdin })) {
  const { type, ...call } = JSON.parse(line);
  settled.push(
    new Promise((resolve) => {
      analytics[type](call, (error) => resolve(error ? gaveUp.push(call.messageId) : (delivered += 1)));
    }),
  );
}
await Promise.all(settled);
// By default it waits no longer than a flush interval.
await analytics.closeAndFlush({ timeout: 60_000 });
console.log(JSON.stringify({ delivered, gaveUp }));
