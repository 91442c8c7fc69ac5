import { Type, type Static, type TSchema } from "typebox";
import { changeSdkPlan, changeSdkSettings } from "../../../commands/change-sdk.js";
import type { Services } from "../../../commands/services.js";
import {
  DEFAULT_SDK_SETTINGS,
  UNPLANNED,
  VIOLATIONS,
  type PlannedEvent,
  type SdkPlan,
  type SdkSettings,
} from "../../../core/catalog/sdk.js";
import type { SchemaId } from "../../../core/ids.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Route } from "../../route.js";
import { readIfMatch, withEtag } from "../../shapes/etag.js";
import { SCHEMA_ID } from "../../shapes/examples.js";
import { enumOrNull, nullable, record, textOrNull } from "../../shapes/fields.js";

export const SDK_SETTINGS = record({
  unplanned: Type.Enum(UNPLANNED),
  violations: Type.Enum(VIOLATIONS),
  keep_rejects: Type.Boolean(),
  collect_only_adds_traits: Type.Boolean(),
  phone: Type.Boolean(),
  device_id: Type.Boolean(),
  advertising_id: Type.Boolean(),
});

export const PLANNED_MAX = 1_000;
const NAME = { minLength: 1, maxLength: 256 };
const SCHEMA = textOrNull(1, 128);
/** An event of the plan, in a list of them. */
export const PLANNED = record({
  name: Type.String(NAME),
  schema_id: SCHEMA,
  unplanned: enumOrNull(UNPLANNED),
  violations: enumOrNull(VIOLATIONS),
});

/** A member for each event of the plan, by its name. */
const eventsOf = <T extends TSchema>(event: T) =>
  Type.Unsafe<Readonly<Record<string, Static<T>>>>({
    type: "object",
    maxProperties: PLANNED_MAX,
    propertyNames: NAME,
    additionalProperties: event,
  });
const PLAN = record({
  events: eventsOf(
    record({
      schema_id: nullable(Type.String()),
      unplanned: nullable(Type.Enum(UNPLANNED)),
      violations: nullable(Type.Enum(VIOLATIONS)),
    }),
  ),
});

export function sdkSettingRoutes(services: Pick<Services, "catalog">): readonly Route[] {
  const { catalog } = services;
  const read = { kind: "role", role: "viewer" } as const;
  const write = { kind: "role", role: "admin" } as const;
  return [
    route({
      method: "get",
      path: "/v1/sdk/settings",
      operationId: "getSdkSettings",
      tag: "SDKs",
      summary: "The settings for events of SDKs",
      example: {},
      access: read,
      hasEtag: true,
      responses: { 200: SDK_SETTINGS },
      handle: async ({ workspace }) => withEtag(reply(200, showSettings((await catalog.sdk(workspace)).settings))),
    }),
    route({
      method: "put",
      path: "/v1/sdk/settings",
      operationId: "putSdkSettings",
      tag: "SDKs",
      summary: "Replace the settings; omitted ones get their defaults",
      example: { body: { keep_rejects: true } },
      access: write,
      body: Type.Partial(SDK_SETTINGS, { additionalProperties: false }),
      hasEtag: true,
      responses: { 200: SDK_SETTINGS, 412: problemSchema(412) },
      handle: async ({ workspace, body, ifMatch }) => {
        const matches = readIfMatch(ifMatch);
        const mayChange = (standing: SdkSettings) => matches(JSON.stringify(showSettings(standing)));
        const wanted = { ...showSettings(DEFAULT_SDK_SETTINGS), ...body };
        const settings = await changeSdkSettings(services, workspace, readSettings(wanted), mayChange);
        return withEtag(reply(200, showSettings(settings)));
      },
    }),
    route({
      method: "get",
      path: "/v1/sdk/plan",
      operationId: "getSdkPlan",
      tag: "SDKs",
      summary: "The plan: which schema each event of an SDK has",
      example: {},
      access: read,
      hasEtag: true,
      responses: { 200: PLAN },
      handle: async ({ workspace }) => withEtag(reply(200, showPlan((await catalog.sdk(workspace)).plan))),
    }),
    route({
      method: "put",
      path: "/v1/sdk/plan",
      operationId: "putSdkPlan",
      tag: "SDKs",
      summary: "Replace the plan",
      example: { after: ["registerSchema"], body: { events: { "Signed Up": { schema_id: SCHEMA_ID } } } },
      access: write,
      body: record({
        events: eventsOf(
          record({
            schema_id: Type.Optional(SCHEMA),
            unplanned: Type.Optional(enumOrNull(UNPLANNED)),
            violations: Type.Optional(enumOrNull(VIOLATIONS)),
          }),
        ),
      }),
      hasEtag: true,
      responses: { 200: PLAN, 412: problemSchema(412) },
      handle: async ({ workspace, body, ifMatch }) => {
        const matches = readIfMatch(ifMatch);
        const plan = Object.entries(body.events).map(
          ([name, { schema_id: schemaId, unplanned, violations }]): PlannedEvent => ({
            name,
            schemaId: (schemaId ?? null) as SchemaId | null,
            unplanned: unplanned ?? null,
            violations: violations ?? null,
          }),
        );
        const mayChange = (standing: SdkPlan) => matches(JSON.stringify(showPlan(standing)));
        return withEtag(reply(200, showPlan(await changeSdkPlan(services, workspace, plan, mayChange))));
      },
    }),
  ];
}

const showSettings = (settings: SdkSettings) => ({
  unplanned: settings.unplanned,
  violations: settings.violations,
  keep_rejects: settings.keepRejects,
  collect_only_adds_traits: settings.collectOnlyAddsTraits,
  phone: settings.phone,
  device_id: settings.deviceId,
  advertising_id: settings.advertisingId,
});

const readSettings = (given: ReturnType<typeof showSettings>): SdkSettings => ({
  unplanned: given.unplanned,
  violations: given.violations,
  keepRejects: given.keep_rejects,
  collectOnlyAddsTraits: given.collect_only_adds_traits,
  phone: given.phone,
  deviceId: given.device_id,
  advertisingId: given.advertising_id,
});

/** `fromEntries` makes a member of any name, `__proto__` too. */
const showPlan = (plan: SdkPlan) => ({
  events: Object.fromEntries(
    plan.map(({ name, schemaId, unplanned, violations }) => [name, { schema_id: schemaId, unplanned, violations }]),
  ),
});
