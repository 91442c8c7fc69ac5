import { existsSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { silentLog } from "../../app/logger.js";
import { startService } from "../../app/service.js";
import { readConfig } from "../../core/config.js";
import { createWorkspace, openClient } from "../shared/client.js";
import { openScratch } from "../shared/scratch.js";
import { feedShop } from "./shop.js";
import { takePictures } from "./take.js";

const HELP = `npm run pictures -- [folder]
  Starts a service of its own, feeds it a made-up shop, and takes the pictures of the console that the documents show.
  The folder is docs/images if none is given. CHROMIUM is the browser's program (/usr/bin/chromium).
`;
const OPERATOR_KEY = "operator-key-of-the-pictures";
const KB = 1_000;

async function main(): Promise<void> {
  const [given = "docs/images"] = process.argv.slice(2);
  if (given === "--help") return void process.stdout.write(HELP);
  const chromium = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  if (!existsSync(chromium)) throw new Error(`${chromium} is not here: CHROMIUM names the browser's program`);
  const folder = path.resolve(given);
  await mkdir(folder, { recursive: true });
  const scratch = openScratch("pictures");
  const config = readConfig({ PORT: "0", DATA_DIR: scratch.folder, OPERATOR_KEY, LOG_LEVEL: "silent" });
  const service = await startService({ config, log: silentLog });
  const client = openClient(service.url, 4);
  try {
    const { key } = await createWorkspace(client, OPERATOR_KEY, "Tea shop");
    const shop = await feedShop(client, key);
    for (const file of await takePictures(shop, { url: service.url, key, chromium, folder }))
      console.log(`${path.relative(".", file)}  ${Math.round((await stat(file)).size / KB)} KB`);
  } finally {
    client.close();
    await service.close();
    await scratch.remove();
  }
}

await main();
