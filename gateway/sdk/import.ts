import { Type } from "typebox";
import { createImportItems } from "../../commands/sdk/import-items.js";
import type { Services } from "../../commands/services.js";
import type { KeyId } from "../../core/ids.js";
import { route, type Route } from "../route.js";
import { SDK_REFUSALS } from "../shapes/answers.js";
import type { SdkRequest } from "./door.js";
import { ACCEPTED, BATCH, showAccepted } from "./routes.js";

/** The same path as that of some SDKs, with a key of ours. */
export function importRoutes(services: Services): readonly Route[] {
  const importItems = createImportItems(services);
  return [
    route({
      method: "post",
      path: "/v1/import",
      operationId: "importSdkCalls",
      tag: "SDKs",
      summary: "Import archived calls of SDKs",
      description:
        "Calls of an archive, as they were sent. `sentAt` and `receivedAt` of a call correct the sender's clock; without both, its time is not corrected. `sender` is the id of the key that sent some of them here before: these are not stored again. Without `sender`, calls that this key has already imported are not stored again.",
      example: {
        body: {
          batch: [
            {
              type: "track",
              messageId: "m-archived",
              userId: "u-2002",
              event: "Order Completed",
              originalTimestamp: "2026-01-31T12:00:00Z",
              sentAt: "2026-01-31T12:00:01Z",
              receivedAt: "2026-01-31T12:00:02Z",
            },
          ],
        },
      },
      access: { kind: "role", role: "admin" },
      query: { sender: Type.Optional(Type.String()) },
      body: BATCH,
      bodyIs: "sdk_batch",
      door: "sdk",
      responses: { ...SDK_REFUSALS, 200: ACCEPTED },
      handle: async (context) => {
        const { bytes, envelope } = context.body as unknown as SdkRequest;
        const sent = { bytes, envelope: envelope!, sender: (context.query.sender ?? null) as KeyId | null };
        return showAccepted(await importItems(context, sent));
      },
    }),
  ];
}
