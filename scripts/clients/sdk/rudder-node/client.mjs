import { createInterface } from "node:readline";
import Analytics from "@rudderstack/rudder-sdk-node";

const { url, key, options } = JSON.parse(process.argv[2]);
// Without a handler its refused requests are unhandled rejections, which end the process.
const errorHandler = () => undefined;
const analytics = new Analytics(key, {
  dataPlaneUrl: url,
  flushInterval: 200,
  logLevel: "none",
  errorHandler,
  ...options,
});
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
// One flush sends no more than one batch.
const flushing = setInterval(() => void analytics.flush(), 50);
await Promise.all(settled);
clearInterval(flushing);
console.log(JSON.stringify({ delivered, gaveUp }));
process.exit();
