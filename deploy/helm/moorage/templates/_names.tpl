{{- define "moorage.name" -}}
{{- if eq .Release.Name "moorage" }}moorage{{ else }}{{ printf "%s-moorage" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "moorage.selector" -}}
app.kubernetes.io/name: moorage
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node
{{- end }}

{{- define "moorage.labels" -}}
{{ include "moorage.selector" . }}
{{ include "moorage.release" . }}
{{- end }}

{{- define "moorage.release" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "moorage.secret" -}}
{{ .Values.secret.existing | default (include "moorage.name" .) }}
{{- end }}

{{- define "moorage.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "moorage.serviceAccount" -}}
{{ if .Values.serviceAccount.create }}{{ include "moorage.name" . }}{{ else }}default{{ end }}
{{- end }}

{{- define "moorage.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "moorage.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
