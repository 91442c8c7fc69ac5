import { Type } from "typebox";
import { route, type Route } from "../route.js";
import { documentOf } from "./document.js";

/** The rows and one more, which answers the document of them all. */
export function withDocument(rows: readonly Route[]): readonly Route[] {
  let document: Buffer | null = null;
  const all: readonly Route[] = [
    ...rows,
    route({
      method: "get",
      path: "/openapi.json",
      operationId: "getDocument",
      tag: "Operate",
      summary: "This document",
      example: {},
      access: { kind: "open" },
      responses: { 200: Type.Object({ openapi: Type.String(), paths: Type.Object({}) }) },
      handle: async () => ({ status: 200, json: (document ??= Buffer.from(JSON.stringify(documentOf(all)))) }),
    }),
  ];
  return all;
}
