import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { readConfig, SETTINGS } from "../../core/config.js";
import { ROOT, textOf } from "../support/house/compose-file.js";

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly Readonly<Record<string, { readonly name: string }>>[];
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
  readonly securityContext: object;
}
interface Labelled {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly selector: { readonly matchLabels: object } };
}
interface Deployment extends Labelled {
  readonly spec: Labelled["spec"] & {
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: { readonly runAsNonRoot: boolean };
        readonly containers: readonly Container[];
      };
    };
  };
}

const BASE = path.join(ROOT, "deploy/k8s/chart/base");
const read = <T>(file: string): T => parse(readFileSync(path.join(BASE, file), "utf8")) as T;
const { data: settings } = read<{ readonly data: Readonly<Record<string, string>> }>("settings.yaml");
/** What the secret holds. */
const SECRETS = {
  RABBITMQ_URL: "amqp://onym:secret@rabbitmq:5672",
  MONGODB_URL: "mongodb://onym:secret@mongodb:27017/onym",
  NEO4J_PASSWORD: "secret",
  METRICS_KEY: "x".repeat(32),
  OPERATOR_KEY: "x".repeat(32),
};

interface Autoscaler {
  readonly spec: {
    readonly scaleTargetRef: { readonly name: string };
    readonly metrics: readonly { readonly type: string }[];
  };
}
interface Policy {
  readonly podSelector: object;
  readonly egress?: readonly { readonly ports: readonly object[] }[];
}

describe("The objects for Kubernetes", () => {
  it("are all in the base, and every file is one object, as the chart wants it", () => {
    const { resources } = read<{ readonly resources: readonly string[] }>("kustomization.yaml");
    const files = readdirSync(BASE).filter((file) => file !== "kustomization.yaml");
    assert.deepEqual([...resources].toSorted(), files.toSorted());
    for (const file of files) assert.doesNotMatch(readFileSync(path.join(BASE, file), "utf8"), /^---/m, file);
  });

  it("set what there is to set", () => {
    for (const name of Object.keys({ ...settings, ...SECRETS }))
      assert.ok(name in SETTINGS.properties || name === "NODE_OPTIONS", name);
  });

  it("run a command with what a worker has, though it does not count as one", () => {
    const job = parse(textOf("deploy/k8s/example/verify.job.yaml")) as Deployment;
    const worker = read<Deployment>("worker.deployment.yaml");
    const [own, its] = [job, worker].map(({ spec }) => spec.template.spec.containers[0]!);
    for (const name of ["env", "envFrom", "securityContext", "resources"] as const)
      assert.deepEqual(own![name], its![name], name);
    assert.deepEqual(job.spec.template.metadata.labels, { "app.kubernetes.io/name": "onym" });
  });

  for (const mode of ["gateway", "worker"]) {
    const deployment = read<Deployment>(`${mode}.deployment.yaml`);
    const { labels } = deployment.spec.template.metadata;
    const pod = deployment.spec.template.spec;
    const [container] = pod.containers;

    it(`start a ${mode} with settings that are right`, () => {
      const own = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
      const { MODE, OPERATOR_KEY } = readConfig({ ...settings, ...SECRETS, ...own });
      assert.equal(MODE, mode);
      assert.equal(OPERATOR_KEY, mode === "gateway" ? SECRETS.OPERATOR_KEY : "");
      const sources = container!.envFrom.map((from) => Object.values(from)[0]!.name);
      assert.deepEqual(sources, ["onym-settings", "onym-secrets"]);
    });

    it(`let a ${mode} change nothing, be nobody, and end by itself`, () => {
      assert.equal(pod.automountServiceAccountToken, false);
      assert.equal(pod.securityContext.runAsNonRoot, true);
      assert.deepEqual(container!.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      const heapMegabytes = Number(/--max-old-space-size=(\d+)/.exec(settings["NODE_OPTIONS"]!)![1]);
      assert.ok(Number.parseInt(container!.resources.limits["memory"]!, 10) >= 1.5 * heapMegabytes);
      assert.ok(pod.terminationGracePeriodSeconds * 1_000 >= readConfig({}).DRAIN_MS + 15_000);
    });

    it(`keep a ${mode} up, make more of it, and say whom it may talk to`, () => {
      assert.deepEqual(deployment.spec.selector.matchLabels, labels);
      assert.deepEqual(read<Labelled>(`${mode}.budget.yaml`).spec.selector.matchLabels, labels);
      const scaler = read<Autoscaler>(`${mode}.autoscaler.yaml`);
      assert.equal(scaler.spec.scaleTargetRef.name, deployment.metadata.name);
      // While another metric cannot be read, an autoscaler stops no pod.
      assert.deepEqual(
        scaler.spec.metrics.map(({ type }) => type),
        ["Resource"],
      );
      const { spec } = read<{ readonly spec: Policy }>(`${mode}.networkpolicy.yaml`);
      assert.deepEqual(spec.podSelector, { matchLabels: labels });
      // A worker sends webhooks, a gateway their tests.
      assert.deepEqual(
        spec.egress?.map(({ ports }) => ports),
        [[{ protocol: "TCP", port: 443 }]],
      );
    });
  }
});
