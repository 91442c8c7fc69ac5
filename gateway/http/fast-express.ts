import http from "node:http";
import express, { type Express } from "express";
import { metered, UNCOUNTED, type Served } from "./meter.js";

/**
 * Express sets the prototypes of every request and response, which costs more than all the rest of a small request.
 * The server is given classes that already have them, so that there is nothing left to set.
 */
export function graftExpress(
  app: Express,
  nowhere: Served = UNCOUNTED,
): Pick<http.ServerOptions, "IncomingMessage" | "ServerResponse"> {
  const graft = <C extends abstract new (...args: never[]) => object>(Base: C, prototype: object): C => {
    const Grafted = class extends (Base as unknown as new (...args: unknown[]) => object) {};
    Object.defineProperties(Grafted.prototype, {
      ...Object.getOwnPropertyDescriptors(prototype),
      app: { value: app },
    });
    return Grafted as unknown as C;
  };
  const IncomingMessage = graft(http.IncomingMessage, express.request);
  const ServerResponse = graft(metered(http.ServerResponse, nowhere), express.response);
  app.request = IncomingMessage.prototype as unknown as Express["request"];
  app.response = ServerResponse.prototype as unknown as Express["response"];
  return { IncomingMessage, ServerResponse };
}
