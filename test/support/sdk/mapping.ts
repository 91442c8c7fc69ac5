import type { KeyId, WorkspaceId } from "../../../core/ids.js";
import { openEnvelope } from "../../../core/sdk/envelope.js";
import type { Mapped, SdkItem } from "../../../core/sdk/item.js";
import { mapItems, type MapOptions } from "../../../core/sdk/map.js";

export const NOW = Date.parse("2026-11-22T12:00:00.000Z");

export const MAP_OPTIONS: MapOptions = {
  workspace: "018f0000-0000-7000-8000-000000000000" as WorkspaceId,
  sender: "abcdefghij" as KeyId,
  now: NOW,
  receivedAt: NOW,
  itemBytesMax: 262_144,
  depthMax: 64,
  switches: { phone: false, deviceId: false, advertisingId: false },
  type: null,
};

export const mapBytes = (body: Buffer, isBatch: boolean, options: Partial<MapOptions> = {}): readonly Mapped[] => [
  ...mapItems(body, openEnvelope(body, isBatch), { ...MAP_OPTIONS, ...options }),
];

/** Text stands for an item as it is sent. */
export const mapBatch = (items: readonly unknown[], options: Partial<MapOptions> = {}, around: object = {}) => {
  const texts = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  const head = JSON.stringify(around).slice(1, -1);
  return mapBytes(Buffer.from(`{${head}${head === "" ? "" : ","}"batch":[${texts.join(",")}]}`), true, options);
};

export function mapOne(item: unknown, options: Partial<MapOptions> = {}, around: object = {}): SdkItem {
  const [mapped] = mapBatch([item], options, around);
  if (mapped?.kind !== "item") throw new Error(`it does not fit: ${JSON.stringify(mapped?.errors)}`);
  return mapped.item;
}

export function unfitOf(item: unknown, options: Partial<MapOptions> = {}, around: object = {}) {
  const [mapped] = mapBatch([item], options, around);
  if (mapped?.kind !== "unfit") throw new Error("it fits");
  return mapped;
}

/** `namespace:value` of each. */
export const namesOf = ({ identifiers }: SdkItem): readonly string[] =>
  identifiers.map(({ namespace, value }) => `${namespace}:${value}`);
