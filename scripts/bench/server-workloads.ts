import { collectRequests, identifies, label, SIZES, type Workload } from "./workloads.js";

const loopName = (bytes: number): string => `raw publish and confirm, ${label(bytes)}`;

/** The gateway on RabbitMQ, MongoDB and Neo4j, beside what the broker alone takes with as many in flight. */
export function createServerWorkloads(): readonly Workload[] {
  return [...SIZES.flatMap(collects), ...identifies("serverGateway", null)];
}

function collects(bytes: number): readonly Workload[] {
  return [
    {
      kind: "loop",
      name: loopName(bytes),
      target: "publishLoop",
      rowBytes: bytes,
      baseline: null,
      compares: "rate",
      budget: null,
    },
    {
      kind: "loop",
      name: `collect without HTTP, ${label(bytes)}`,
      target: "serverGateway",
      rowBytes: bytes,
      baseline: loopName(bytes),
      compares: "rate",
      budget: 0.6,
    },
    // The client, the gateway and the broker share the machine here, so the ratio says most about how many cores it has.
    {
      kind: "http",
      name: `collect until 202, ${label(bytes)}`,
      target: "serverGateway",
      requests: collectRequests(bytes),
      drains: false,
      baseline: loopName(bytes),
      compares: "rate",
      budget: null,
    },
  ];
}
