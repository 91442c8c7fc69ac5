import { Type } from "typebox";
import { createAcceptItems, type SdkAcceptance } from "../../commands/sdk/accept-items.js";
import type { Services } from "../../commands/services.js";
import { bounded } from "../../core/errors.js";
import { SDK_TYPES, type SdkType } from "../../core/sdk/item.js";
import { ERROR_ITEM } from "../http/error-response.js";
import { reply, route, type Context, type Reply, type Route } from "../route.js";
import { OPEN_SDK_REFUSALS, SDK_REFUSALS } from "../shapes/answers.js";
import { EMAIL, WRITE_KEY_SHOWN } from "../shapes/examples.js";
import { nullable, record } from "../shapes/fields.js";
import { RUDDER_SOURCE_CONFIG, rudderSourceConfig, SEGMENT_SETTINGS, segmentSettings, warningsOf } from "./browser.js";
import type { SdkRequest } from "./door.js";

const MESSAGE = Type.Object(
  {
    type: Type.Optional(Type.Enum([...SDK_TYPES])),
    messageId: Type.Optional(nullable(Type.String())),
    userId: Type.Optional(nullable(Type.String())),
    anonymousId: Type.Optional(nullable(Type.String())),
  },
  { description: "a call as the SDKs send it" },
);
export const BATCH = Type.Object({ batch: Type.Array(MESSAGE) });

export const ACCEPTED = record({
  success: Type.Literal(true),
  accepted: Type.Integer(),
  duplicates: Type.Integer(),
  quarantined: Type.Integer(),
  not_kept: Type.Optional(Type.Integer({ minimum: 1 })),
  rejected: Type.Array(
    record({
      index: Type.Integer(),
      message_id: nullable(Type.String()),
      errors: Type.Array(ERROR_ITEM),
      kept: Type.Optional(Type.Literal(false)),
    }),
  ),
});

const SENT_AT = "2026-01-31T12:00:05Z";
const AT = "2026-01-31T12:00:00Z";

interface Call {
  readonly path: string;
  readonly also: readonly string[];
  readonly summary: string;
  readonly example: object;
}

/** The short paths are Segment's browser SDK's, the long ones those of RudderStack's. */
const CALLS: Readonly<Record<SdkType, Call>> = {
  track: {
    path: "/v1/track",
    also: ["/v1/t"],
    summary: "An SDK sends one event",
    example: { event: "Order Completed", properties: { total: 9.5 } },
  },
  page: { path: "/v1/page", also: ["/v1/p"], summary: "An SDK sends one page view", example: { name: "Home" } },
  screen: { path: "/v1/screen", also: ["/v1/s"], summary: "An SDK sends one screen view", example: { name: "Main" } },
  identify: {
    path: "/v1/i",
    also: ["/v1/identify"],
    summary: "An SDK says who its visitor is",
    example: { anonymousId: "a-1", traits: { email: EMAIL.value } },
  },
  group: {
    path: "/v1/group",
    also: ["/v1/g"],
    summary: "An SDK says which group its visitor belongs to",
    example: { groupId: "acme", traits: { name: "Acme" } },
  },
  alias: {
    path: "/v1/a",
    also: ["/v1/alias"],
    summary: "An SDK gives its visitor another id",
    example: { previousId: "a-1" },
  },
};

const NAMES: Readonly<Record<SdkType, string>> = {
  track: "sendSdkTrack",
  page: "sendSdkPage",
  screen: "sendSdkScreen",
  identify: "sendSdkIdentify",
  group: "sendSdkGroup",
  alias: "sendSdkAlias",
};

const exampleOf = (type: SdkType) => ({
  type,
  messageId: `m-${type}`,
  userId: "u-2002",
  timestamp: AT,
  ...CALLS[type].example,
});

/** It goes into quarantine. */
const AHEAD = { ...exampleOf("track"), messageId: "m-ahead", timestamp: "2999-01-31T12:00:00Z" };

/** Success is 200 with an object that has members, and nothing else: one SDK sends a batch again after 202, another after an empty body. */
export function sdkRoutes(services: Services): readonly Route[] {
  const acceptItems = createAcceptItems(services);
  const query = { writeKey: Type.Optional(Type.String()) };
  const row = { tag: "SDKs", access: { kind: "write_key" }, cors: true } as const;
  const accepting = (type: SdkType | null) => ({
    ...row,
    method: "post" as const,
    query,
    door: "sdk" as const,
    responses: { ...SDK_REFUSALS, 200: ACCEPTED },
    handle: async (context: Context): Promise<Reply> => {
      const { bytes, envelope } = context.body as SdkRequest;
      await context.countItems(envelope!.items.length - 1);
      return showAccepted(await acceptItems(context, { bytes, envelope: envelope!, type }));
    },
  });
  return [
    route({
      ...accepting(null),
      path: "/v1/batch",
      also: ["/v1/b", "/v1/import", "/beacon/v1/batch"],
      operationId: "sendSdkBatch",
      summary: "An SDK sends calls together",
      description:
        "What Segment's and RudderStack's SDKs send, unchanged. A 200 means that everything is on disk. A wrong item does not affect the others; `rejected` lists the first 20.",
      example: { body: { batch: [exampleOf("identify"), exampleOf("track"), AHEAD], sentAt: SENT_AT } },
      body: BATCH,
      bodyIs: "sdk_batch",
    }),
    ...SDK_TYPES.map((type) => {
      const { path, also, summary } = CALLS[type];
      const example = { body: { ...exampleOf(type), sentAt: SENT_AT } };
      return route({
        ...accepting(type),
        path,
        also,
        operationId: NAMES[type],
        summary,
        example,
        body: MESSAGE,
        bodyIs: "sdk_item",
      });
    }),
    route({
      method: "post",
      path: "/v1/m",
      operationId: "sendSdkMetrics",
      tag: "SDKs",
      summary: "Segment's browser SDK tells about itself; nothing of it is read",
      example: {},
      access: { kind: "open" },
      cors: true,
      responses: { ...OPEN_SDK_REFUSALS, 200: record({ success: Type.Literal(true) }) },
      handle: async () => reply(200, { success: true }),
    }),
    route({
      ...row,
      method: "get",
      path: "/v1/projects/:key/settings",
      operationId: "getSegmentSettings",
      summary: "What Segment's browser SDK asks for first: where to send to",
      example: { params: { key: WRITE_KEY_SHOWN } },
      params: { key: Type.String() },
      responses: { ...SDK_REFUSALS, 200: SEGMENT_SETTINGS },
      handle: async ({ workspace, params }) =>
        reply(200, segmentSettings(params.key, services.publicUrl(), await warningsOf(services, workspace))),
    }),
    route({
      ...row,
      method: "get",
      path: "/sourceConfig",
      operationId: "getRudderSourceConfig",
      summary: "What RudderStack's browser SDK asks for first",
      example: {},
      query,
      responses: { ...SDK_REFUSALS, 200: RUDDER_SOURCE_CONFIG },
      handle: async ({ workspace, keyId, body }) => {
        const { writeKey } = body as SdkRequest;
        return reply(200, rudderSourceConfig(keyId, writeKey, await warningsOf(services, workspace)));
      },
    }),
  ];
}

/** So many of them are told; all are counted. */
const SHOWN_MAX = 20;
const MESSAGE_ID_CHARACTERS_MAX = 255;

export const showAccepted = ({ accepted, duplicates, quarantined, notKept, rejected }: SdkAcceptance): Reply =>
  reply(200, {
    success: true,
    accepted,
    duplicates,
    quarantined,
    ...(notKept > 0 && { not_kept: notKept }),
    rejected: rejected.slice(0, SHOWN_MAX).map(showRejection),
  });

const showRejection = ({ index, messageId, errors, kept }: SdkAcceptance["rejected"][number]) => ({
  index,
  message_id: messageId?.slice(0, MESSAGE_ID_CHARACTERS_MAX) ?? null,
  errors: bounded(errors),
  ...(kept === false && { kept }),
});
