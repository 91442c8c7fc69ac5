/** The flooding client, in a process of its own: its work must not delay the neighbour's clock. */
import { serveParent } from "../../shared/child.js";
import { openClient } from "../../shared/client.js";
import { runControl } from "./control.js";
import type { FloodSite } from "./flood.js";
import { FLOODS } from "./floods/floods.js";
import { openWire, type Statuses, type Wire } from "./wire.js";

export interface FlooderAsks {
  prepare(flood: { readonly name: string; readonly site: FloodSite }): Promise<void>;
  begin(): void;
  /** Ordinary requests that burn so many processors of the process `pid`. */
  beginControl(control: { readonly site: FloodSite; readonly pid: number; readonly cores: number }): void;
  /** Status -> answers. */
  end(): Statuses;
}

const CONNECTIONS = 32;
const PATIENCE_MS = 60_000;

let wire: Wire | null = null;
let run = (): void => {};
const openFor = (site: FloodSite): Wire => (wire = openWire(Number(new URL(site.url).port)));

serveParent<FlooderAsks>(
  {},
  {
    prepare: async ({ name, site }) => {
      const flood = FLOODS.find((one) => one.name === name)!;
      const client = openClient(site.url, CONNECTIONS, PATIENCE_MS);
      const prepared = (await flood.prepare?.(client, site)) ?? [];
      client.close();
      run = () => flood.run(openFor(site), site, prepared);
    },
    begin: () => run(),
    beginControl: ({ site, pid, cores }) => runControl(openFor(site), site, pid, cores),
    end: () => {
      wire?.end();
      return wire?.statuses() ?? {};
    },
  },
  async () => wire?.end(),
);
