{{- range $path, $bytes := .Files.Glob "base/*.yaml" }}
{{- $object := $.Files.Get $path | fromYaml }}
{{- if ne $object.kind "Kustomization" }}
{{- $patch := index $.Values.patches (printf "%s/%s" $object.kind $object.metadata.name) | default dict }}
{{- $object = mustMergeOverwrite $object $patch }}
{{- if eq $object.kind "ConfigMap" }}
{{- range $name, $value := $.Values.settings }}
{{- $_ := set $object.data $name (toString $value) }}
{{- end }}
{{- end }}
{{- if eq $object.kind "Deployment" }}
{{- $_ := set (first $object.spec.template.spec.containers) "image" $.Values.image }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
