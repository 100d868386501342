{{/* The name of the operator's objects. */}}
{{- define "acclaim.operator" -}}
{{ printf "%s-operator" .Release.Name | trunc 63 }}
{{- end }}

{{/* The name of the operator's cluster-wide objects. */}}
{{- define "acclaim.clusterwide" -}}
{{ printf "%s-%s-operator" .Release.Namespace .Release.Name }}
{{- end }}

{{/* The name of the trial database's objects. */}}
{{- define "acclaim.database" -}}
{{ printf "%s-trial-database" .Release.Name | trunc 63 }}
{{- end }}

{{/* The namespaces that the operator is limited to, as JSON: none, or that of the release among them. */}}
{{- define "acclaim.namespaces" -}}
{{- .Values.operator.allNamespaces | ternary (list) (append .Values.operator.namespaces .Release.Namespace | uniq | sortAlpha) | toJson }}
{{- end }}

{{/* Those of them that can have a RoleBinding, as JSON: Helm fails with one in a namespace that does not exist or is
being deleted. `helm template` cannot look and keeps all. */}}
{{- define "acclaim.boundNamespaces" -}}
{{- $looks := lookup "v1" "Namespace" "" "kube-system" }}
{{- $bound := list }}
{{- range include "acclaim.namespaces" . | fromJsonArray }}
{{- $found := lookup "v1" "Namespace" "" . }}
{{- if or (not $looks) (eq . $.Release.Namespace) (and $found (not $found.metadata.deletionTimestamp)) }}
{{- $bound = append $bound . }}
{{- end }}
{{- end }}
{{- $bound | toJson }}
{{- end }}

{{/* The peers that a NetworkPolicy admits to the ports with metrics, as a list in JSON. */}}
{{- define "acclaim.monitoringPeers" -}}
{{- $peers := .Values.monitoring.from }}
{{- if .Values.monitoring.serviceMonitor }}
{{- $namespace := dict "matchLabels" (dict "kubernetes.io/metadata.name" .Values.monitoring.namespace) }}
{{- $pods := dict "matchLabels" (dict "app.kubernetes.io/name" "prometheus") }}
{{- $peers = prepend $peers (dict "namespaceSelector" $namespace "podSelector" $pods) }}
{{- end }}
{{- $peers | toJson }}
{{- end }}

{{- define "acclaim.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The labels that select pods: of the dictionary root, component. */}}
{{- define "acclaim.selector" -}}
app.kubernetes.io/name: acclaim
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The labels of every object: of the dictionary root, component. */}}
{{- define "acclaim.labels" -}}
{{ include "acclaim.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The security context of a pod that meets the standard "restricted"; the user is the image's. */}}
{{- define "acclaim.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of its containers. */}}
{{- define "acclaim.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where pods may run: a Scheduling, as Backends have it. */}}
{{- define "acclaim.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The address of the document that has a section for each alert. */}}
{{- define "acclaim.runbook" -}}
{{ .Chart.Home }}/blob/main/services/docs/runbook.md
{{- end }}

{{/* The environments that are enabled, as JSON: production and sandbox. */}}
{{- define "acclaim.environments" -}}
{{- $enabled := dict }}
{{- range $environment := list "production" "sandbox" }}
{{- $values := get $.Values $environment }}
{{- if $values.enabled }}
{{- $_ := set $enabled $environment $values }}
{{- end }}
{{- end }}
{{- toJson $enabled }}
{{- end }}

{{/* The name of an environment's ScheduledBackup, which allows 45 characters: of the dictionary root, environment. */}}
{{- define "acclaim.scheduledBackup" -}}
{{ printf "%s-%s" (.root.Release.Name | trunc 34 | trimSuffix "-") .environment }}
{{- end }}

{{/*
The Secret of an environment's database, of the dictionary root, environment,
values: one that is named, or else one that the chart makes.
*/}}
{{- define "acclaim.databaseSecret" -}}
{{- $mongodb := .values.mongodb -}}
{{- if $mongodb.secretName -}}
{{ $mongodb.secretName }}
{{- else if or $mongodb.uri .root.Values.trialDatabase.enabled -}}
{{ printf "%s-%s-mongodb" .root.Release.Name .environment }}
{{- else -}}
{{ fail (printf "%[1]s has no database: name the Secret with its URI in %[1]s.mongodb.secretName or, to try things out, set trialDatabase.enabled" .environment) }}
{{- end -}}
{{- end }}
