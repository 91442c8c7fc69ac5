{{- $settings := list $.Values.settings (get $.Values.patches "ConfigMap/onym-settings") }}
{{- range $path, $bytes := .Files.Glob "base/*.yaml" }}
{{- $object := $.Files.Get $path | fromYaml }}
{{- if ne $object.kind "Kustomization" }}
{{- $patch := index $.Values.patches (printf "%s/%s" $object.kind $object.metadata.name) | default dict }}
{{- $object = mustMergeOverwrite $object $patch }}
{{- if eq $object.kind "ConfigMap" }}
{{- /* A number of a values file is a float64, which toString writes as 2e+06. */}}
{{- range $name, $value := $.Values.settings }}
{{- $_ := set $object.data $name (ternary (toJson $value) (toString $value) (kindIs "float64" $value)) }}
{{- end }}
{{- end }}
{{- if eq $object.kind "Deployment" }}
{{- $_ := set (first $object.spec.template.spec.containers) "image" $.Values.image }}
{{- if compact $settings }}
{{- /* A pod reads its settings at its start only, so other settings are to make other pods. */}}
{{- $sum := dict "checksum/settings" ($.Files.Get "base/settings.yaml" | cat (toJson $settings) | sha256sum) }}
{{- $_ := set $object.spec.template.metadata "annotations" (merge $sum ($object.spec.template.metadata.annotations | default dict)) }}
{{- end }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
