import type { Channel, Connection } from "rabbitmq-client";
import type { QueueRole } from "../topology.js";

/** On one connection, large messages of the other queues would be on their way in front of those of the express queue. */
export type Lane = "express" | "others";
export const LANES = ["express", "others"] as const;
export const laneOf = (source: QueueRole): Lane => (source === "express" ? "express" : "others");
export type Connections = Readonly<Record<Lane, Connection>>;
export type Channels = Readonly<Record<Lane, Channel>>;

export async function acquireChannels(connections: Connections): Promise<Channels> {
  const express = await connections.express.acquire();
  try {
    const others = await connections.others.acquire();
    for (const channel of [express, others]) keepDeliveries(channel);
    return { express, others };
  } catch (error) {
    await express.close();
    throw error;
  }
}

/** What the library does to a delivery; pinned by its exact version and by tests that fail without each of these. */
interface Inner {
  [ON_HEADER](frame: { readonly fields: { contentType?: string } }): void;
  readonly [STATE]: { readonly consumers: Map<string, unknown> };
}
const ON_HEADER = "_onHeader";
const STATE = "_state";

function keepDeliveries(channel: Channel): void {
  const inner = channel as unknown as Inner;
  // A body that says it is JSON or text would be parsed, and its bytes be gone; without a type it stays as it came.
  const onHeader = inner[ON_HEADER].bind(channel);
  inner[ON_HEADER] = (frame) => {
    delete frame.fields.contentType;
    onHeader(frame);
  };
  // The broker may deliver after it has confirmed a cancel. What has no consumer would be dropped, and later look like a crash.
  inner[STATE].consumers.delete = () => false;
}
