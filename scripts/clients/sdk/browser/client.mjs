import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const { sdk, url, key, browser: executablePath, options } = JSON.parse(process.argv[2]);

/** How each SDK is loaded, as its maker's page says; both bundles are the shipped ones. */
const SDKS = {
  segment: {
    bundle: "@segment/analytics-next/dist/umd/index.js",
    load: ({ key, url, options }) => {
      window.analytics = window.AnalyticsNext.AnalyticsBrowser.load({ writeKey: key, cdnURL: url }, options);
    },
    visitor: async () => (await window.analytics.user()).anonymousId(),
  },
  rudder: {
    bundle: "@rudderstack/analytics-js/dist/npm/modern/bundled/umd/index.js",
    load: ({ key, url, options }) => {
      window.analytics = new window.rudderanalytics.RudderAnalytics();
      window.analytics.load(key, url, { configUrl: url, ...options });
    },
    visitor: () => new Promise((resolve) => window.analytics.ready(() => resolve(window.analytics.getAnonymousId()))),
  },
};
const { bundle, load, visitor } = SDKS[sdk];

const script = readFileSync(path.join(import.meta.dirname, "node_modules", bundle));
const PAGE = `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><script src="/sdk.js"></script>`;
const shop = createServer((request, response) => {
  const isScript = request.url === "/sdk.js";
  const found = isScript || request.url === "/";
  response.writeHead(found ? 200 : 404, { "Content-Type": isScript ? "text/javascript" : "text/html" });
  response.end(isScript ? script : PAGE);
});
await new Promise((resolve) => shop.listen(0, "127.0.0.1", resolve));
// Another origin than the service's: its host has another name.
const origin = `http://localhost:${shop.address().port}`;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage();
const [problems, elsewhere] = [[], []];
page.on("console", (message) => void (message.type() === "error" && problems.push(message.text())));
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => {
  const target = new URL(request.url());
  if (!["http:", "https:"].includes(target.protocol)) return;
  if (target.origin !== origin && target.origin !== new URL(url).origin) elsewhere.push(target.origin);
});
await page.goto(origin);
await page.evaluate(load, { key, url, options });

const send = ({ type, ...call }) => {
  const { userId, event, name, groupId, traits, properties } = call;
  const given = { identify: [userId, traits], track: [event, properties], group: [groupId, traits], alias: [userId] };
  void window.analytics[type](...(given[type] ?? [name, properties]));
};
for await (const line of createInterface({ input: process.stdin })) await page.evaluate(send, JSON.parse(line));
const anonymousId = await page.evaluate(visitor);
console.log(JSON.stringify({ anonymousId, problems, elsewhere, origin }));
await browser.close();
shop.close();
