import { Type } from "typebox";
import {
  createWebhook,
  requireWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
  type PlacedWebhook,
  type WithSecret,
} from "../../../commands/webhooks/change.js";
import type { Services } from "../../../commands/services.js";
import { ENTRY_TYPES } from "../../../core/audience/feed.js";
import { AppError } from "../../../core/errors.js";
import { showTime } from "../../../core/event/time.js";
import type { AudienceId, WebhookId, WorkspaceId } from "../../../core/ids.js";
import { STATES, stateOf, WEBHOOKS_MAX } from "../../../core/webhook/webhook.js";
import { createAtOnce } from "../../access/at-once.js";
import { POSITION_REFUSALS, SEQ } from "../audiences/feed.js";
import { reply, route, type Route } from "../../route.js";
import { answered } from "../../shapes/examples.js";
import { idOf, nullable, record, TIME, UUID } from "../../shapes/fields.js";
import { list } from "../../shapes/page.js";

const AUDIENCES_MAX = 100;
/** One test takes as long as its receiver. */
const TESTS_AT_ONCE = 4;

const AUDIENCE_IDS = Type.Array(UUID, { minItems: 1, maxItems: AUDIENCES_MAX });
const TYPES = Type.Array(Type.Enum([...ENTRY_TYPES]), { minItems: 1, maxItems: ENTRY_TYPES.length });
const SHOWN = {
  webhook_id: UUID,
  url: Type.String(),
  audience_ids: nullable(Type.Array(UUID)),
  types: nullable(Type.Array(Type.Enum([...ENTRY_TYPES]))),
  state: Type.Enum([...STATES]),
  delivered: SEQ,
  head: SEQ,
  last_error: nullable(Type.String()),
  last_error_at: nullable(TIME),
  failing_since: nullable(TIME),
  next_try_at: nullable(TIME),
  created_at: TIME,
};
const WEBHOOK = record(SHOWN);
const SECRET = Type.String({ pattern: "^whsec_" });

export function webhookRoutes(services: Services): readonly Route[] {
  const access = { kind: "role", role: "admin" } as const;
  const params = { id: idOf("webhook") };
  const example = { params: { id: answered("createWebhook", "/webhook_id") } };
  const headOf = async (workspace: WorkspaceId): Promise<number> => (await services.seats.sizes(workspace)).head;
  const inTurn = createAtOnce({ max: TESTS_AT_ONCE, waitMs: 0, refusal: testsRefused });
  const withSecret = ({ secret, ...placed }: WithSecret) => ({ ...show(placed), secret });
  return [
    route({
      method: "post",
      path: "/v1/webhooks",
      operationId: "createWebhook",
      tag: "Audiences",
      summary: "Create a webhook, which sends the entries of the feed to an address",
      description: `At most ${WEBHOOKS_MAX}. Sends the entries after \`after\` (0: all that are kept); without it, only new ones. The \`secret\` verifies what is sent; only this response shows it.`,
      example: { body: { url: "https://hooks.example.com/onym" } },
      access,
      body: record({
        url: Type.String({ minLength: 1, maxLength: 2_048 }),
        audience_ids: Type.Optional(AUDIENCE_IDS),
        types: Type.Optional(TYPES),
        after: Type.Optional(SEQ),
      }),
      responses: { 201: record({ ...SHOWN, secret: SECRET }), ...POSITION_REFUSALS },
      handle: async (context) => {
        const { url, audience_ids = null, types = null, after = null } = context.body;
        const wanted = { url, audienceIds: audience_ids as readonly AudienceId[] | null, types, after };
        return reply(201, withSecret(await createWebhook(services, context, wanted)));
      },
    }),
    list({
      path: "/v1/webhooks",
      operationId: "listWebhooks",
      tag: "Audiences",
      summary: "Webhooks, oldest first",
      example: {},
      access,
      name: "webhooks",
      item: WEBHOOK,
      itemBytes: 8_192,
      read: async ({ workspace }, { limit, after }) => {
        const page = { limit, after: (after?.[0] ?? null) as WebhookId | null };
        const webhooks = await services.webhooks.webhooks(workspace, page);
        // Read last, so that none is ahead of it.
        const head = await headOf(workspace);
        return webhooks.map((webhook) => ({ webhook, head }));
      },
      position: ({ webhook }) => [webhook.webhookId],
      show,
    }),
    route({
      method: "get",
      path: "/v1/webhooks/:id",
      operationId: "getWebhook",
      tag: "Audiences",
      summary: "One webhook and its progress",
      description: "`delivered`: the last delivered entry; `head`: the last entry of the feed.",
      example,
      access,
      params,
      responses: { 200: WEBHOOK },
      handle: async ({ workspace, params: { id } }) => {
        const webhook = await requireWebhook(services, workspace, id as WebhookId);
        return reply(200, show({ webhook, head: await headOf(workspace) }));
      },
    }),
    route({
      method: "delete",
      path: "/v1/webhooks/:id",
      operationId: "deleteWebhook",
      tag: "Audiences",
      summary: "Delete a webhook",
      example,
      access,
      params,
      responses: { 204: null },
      handle: async ({ workspace, params: { id } }) => {
        if (!(await services.webhooks.deleteWebhook(workspace, id as WebhookId)))
          throw new AppError("not_found", "There is no such webhook.");
        return { status: 204, json: "" };
      },
    }),
    route({
      method: "post",
      path: "/v1/webhooks/:id/resume",
      operationId: "resumeWebhook",
      tag: "Audiences",
      summary: "Resume a webhook at once, or from an earlier entry",
      description:
        "Without `after`, it continues where it is. With `after`, it continues after that entry (0: with the oldest that is kept), and may send entries again.",
      example: { ...example, body: {} },
      access,
      params,
      body: record({ after: Type.Optional(SEQ) }),
      bodyIs: "optional",
      responses: { 200: WEBHOOK, ...POSITION_REFUSALS },
      handle: async ({ workspace, params: { id }, body }) =>
        reply(200, show(await resumeWebhook(services, workspace, id as WebhookId, body?.after ?? null))),
    }),
    route({
      method: "post",
      path: "/v1/webhooks/:id/rotate",
      operationId: "rotateWebhook",
      tag: "Audiences",
      summary: "Create a new secret; the old one also signs for 24 hours",
      example,
      access,
      params,
      responses: { 200: record({ ...SHOWN, secret: SECRET }) },
      handle: async (context) =>
        reply(200, withSecret(await rotateWebhook(services, context, context.params.id as WebhookId))),
    }),
    route({
      method: "post",
      path: "/v1/webhooks/:id/test",
      operationId: "testWebhook",
      tag: "Audiences",
      summary: "Send a test batch without entries",
      description: "`status`: the status code of the receiver; null if there was none, and `error` says why.",
      example,
      access,
      params,
      responses: { 200: record({ status: nullable(Type.Integer()), error: nullable(Type.String()) }) },
      handle: async ({ workspace, params: { id }, isGone }) => {
        const { status, error } = await inTurn({ workspace, isGone }, () =>
          testWebhook(services, workspace, id as WebhookId),
        );
        return reply(200, { status, error });
      },
    }),
  ];
}

const testsRefused = (): AppError =>
  new AppError("rate_limited", "Other webhook tests of this workspace are running. Try again.", {
    headers: { "Retry-After": "15" },
  });

const timeOf = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : showTime(ms);

function show({ webhook, head }: PlacedWebhook) {
  const { webhookId, url, audienceIds, types, delivered, lastError, failing, nextTryAt, createdAt } = webhook;
  const state = stateOf(webhook);
  return {
    webhook_id: webhookId,
    url,
    audience_ids: audienceIds,
    types,
    state,
    delivered,
    head,
    last_error: lastError?.text ?? null,
    last_error_at: timeOf(lastError?.at),
    failing_since: timeOf(failing?.since),
    next_try_at: state === "failing" ? timeOf(nextTryAt) : null,
    created_at: showTime(createdAt),
  };
}
