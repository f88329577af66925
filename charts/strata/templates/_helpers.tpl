{{- define "strata.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Of the pods of one component: (list $ "web"). */}}
{{- define "strata.selectorLabels" -}}
app.kubernetes.io/name: {{ (first .).Chart.Name }}
app.kubernetes.io/instance: {{ (first .).Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end }}

{{- define "strata.labels" -}}
{{ include "strata.selectorLabels" . }}
app.kubernetes.io/version: {{ (first .).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (first .).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (first .).Chart.Name (first .).Chart.Version }}
{{- end }}

{{- define "strata.metadata" -}}
name: {{ include "strata.fullname" (first .) }}-{{ last . }}
labels: {{- include "strata.labels" . | nindent 2 }}
{{- end }}

{{- define "strata.image" -}}
{{- with .Values.image }}{{ .repository }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{- define "strata.serviceAccountName" -}}
{{- with .Values.serviceAccount -}}
{{ .name | default (ternary (include "strata.fullname" $) "default" .create) }}
{{- end }}
{{- end }}

{{/* A setting as the text of a variable: 1500000000, not 1.5e+09. */}}
{{- define "strata.text" -}}
{{ ternary . (toJson .) (kindIs "string" .) }}
{{- end }}

{{- define "strata.allowedHosts" -}}
{{ append .Values.hosts "localhost" | uniq | join "," }}
{{- end }}

{{/* The path of the service without a slash at its end: empty at the root. */}}
{{- define "strata.path" -}}
{{ trimSuffix "/" .Values.ingress.path }}
{{- end }}

{{/* The data of the ConfigMap and of the Secret; the hook has copies of both. */}}
{{- define "strata.settings" -}}
ALLOWED_HOSTS: {{ include "strata.allowedHosts" . | quote }}
{{- with include "strata.path" . }}
STRATA_BASE_PATH: {{ . | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ include "strata.text" $value | quote }}
{{- end }}
{{- end }}

{{- define "strata.secrets" -}}
{{- range $name, $value := .Values.secrets }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "strata.files" -}}
{{- range $folder := list "specs" "pipelines" }}
{{- range $name, $text := index $.Values $folder }}
{{ $folder }}.{{ $name }}.yaml: {{ $text | quote }}
{{- end }}
{{- end }}
{{- range $index, $files := .Values.golden }}
{{- range $file, $text := $files }}
golden.{{ $index }}.{{ $file | replace "/" "." }}: {{ $text | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Pods start anew when what they read only at their start has changed. */}}
{{- define "strata.checksum" -}}
{{ print (include "strata.settings" .) (include "strata.secrets" .) .Values.flower.basicAuth | sha256sum }}
{{- end }}

{{/*
A pod of Strata's image. root, component, command; settings: variables of this pod; prefix: of the
names of the ConfigMaps and the Secret; data: the volume with the originals; probes, ports,
resources, grace, lifecycle: of its container.
*/}}
{{- define "strata.pod" -}}
{{- $root := .root -}}
{{- $prefix := .prefix | default (include "strata.fullname" $root) -}}
automountServiceAccountToken: false
enableServiceLinks: false # their names look like settings
shareProcessNamespace: true # its first process reaps what a killed parser left
{{- $user := $root.Values.podSecurityContext }}
{{- if not $user.runAsUser }}{{ $user = omit $user "runAsUser" "runAsGroup" "fsGroup" }}{{ end }}
securityContext: {{- toYaml $user | nindent 2 }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .serviceAccount }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .restartPolicy }}
restartPolicy: {{ . }}
{{- end }}
{{- with .grace }}
terminationGracePeriodSeconds: {{ . }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .component }}
    image: {{ include "strata.image" $root | quote }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    command: {{- toYaml .command | nindent 6 }}
    {{- if eq .component "flower" }}
    env: {{- toYaml .env | nindent 6 }}
    {{- else }}
    envFrom:
      - configMapRef: {name: {{ $prefix }}-settings}
      - secretRef: {name: {{ $root.Values.existingSecret | default (printf "%s-secrets" $prefix) }}}
    {{- if or .env .settings $root.Values.extraEnv }}
    env:
      {{- with .env }}{{- toYaml . | nindent 6 }}{{- end }}
      {{- range $name, $value := .settings }}
      - {name: {{ $name }}, value: {{ include "strata.text" $value | quote }}}
      {{- end }}
      {{- with $root.Values.extraEnv }}{{- toYaml . | nindent 6 }}{{- end }}
    {{- end }}
    {{- end }}
    {{- with .ports }}
    ports: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .probes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .lifecycle }}
    lifecycle: {{- toYaml . | nindent 6 }}
    {{- end }}
    resources: {{- toYaml .resources | nindent 6 }}
    securityContext: {{- toYaml $root.Values.securityContext | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- if ne .component "flower" }}
      - {name: data, mountPath: /data}
      {{- if $root.Values.modelsVolume }}
      - {name: models, mountPath: /models}
      {{- end }}
      {{- range $folder := list "specs" "pipelines" "golden" }}
      {{- if index $root.Values $folder }}
      - {name: {{ $folder }}, mountPath: /app/{{ $folder }}, readOnly: true}
      {{- end }}
      {{- end }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- if ne .component "flower" }}
  - name: data
    {{- toYaml .data | nindent 4 }}
  {{- with $root.Values.modelsVolume }}
  - name: models
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- range $folder := list "specs" "pipelines" }}
  {{- with index $root.Values $folder }}
  - name: {{ $folder }}
    configMap:
      name: {{ $prefix }}-files
      items:
        {{- range $name, $text := . }}
        - {key: {{ $folder }}.{{ $name }}.yaml, path: {{ $name }}.yaml}
        {{- end }}
  {{- end }}
  {{- end }}
  {{- with $root.Values.golden }}
  - name: golden
    configMap:
      name: {{ $prefix }}-files
      items:
        {{- range $index, $files := . }}
        {{- range $file, $text := $files }}
        - {key: golden.{{ $index }}.{{ $file | replace "/" "." }}, path: {{ $index }}/{{ $file }}}
        {{- end }}
        {{- end }}
  {{- end }}
  {{- end }}
{{- end }}

{{/* The volume of a service's pod for the originals: shared, unless they are in S3. */}}
{{- define "strata.data" -}}
{{- if .Values.settings.STRATA_S3_BUCKET -}}
emptyDir: {}
{{- else -}}
persistentVolumeClaim:
  claimName: {{ .Values.persistence.existingClaim | default (printf "%s-data" (include "strata.fullname" .)) }}
{{- end }}
{{- end }}

{{/* What a worker or beat touches; minutes: after which it is no longer alive. */}}
{{- define "strata.heartbeatProbes" -}}
startupProbe:
  exec: &alive {command: [sh, -c, 'test -n "$(find $STRATA_HEARTBEAT_FILE -mmin -{{ . }})"']}
  periodSeconds: 10
  failureThreshold: 30
livenessProbe:
  exec: *alive
  periodSeconds: 30
  timeoutSeconds: 5
{{- end }}

{{/* A Deployment. pod: what strata.pod takes; replicas: none with autoscaling; strategy. */}}
{{- define "strata.deployment" -}}
{{- $root := .pod.root -}}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "strata.metadata" (list $root .pod.component) | nindent 2 }}
spec:
  {{- if hasKey . "replicas" }}
  replicas: {{ .replicas }}
  {{- end }}
  {{- with .strategy }}
  strategy: {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    matchLabels: {{- include "strata.selectorLabels" (list $root .pod.component) | nindent 6 }}
  template:
    metadata:
      labels: {{- include "strata.selectorLabels" (list $root .pod.component) | nindent 8 }}
      annotations:
        checksum/settings: {{ include "strata.checksum" $root }}
        {{- with $root.Values.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec: {{- include "strata.pod" .pod | nindent 6 }}
{{- end }}

{{- define "strata.webProbe" -}}
httpGet:
  path: {{ . }}
  port: http
  httpHeaders: [{name: Host, value: localhost}]
timeoutSeconds: 10
{{- end }}

{{/* What runs before an installation or upgrade, in the order of its weight. */}}
{{- define "strata.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
