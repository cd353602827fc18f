{{- define "codegen-operator.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "codegen-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "codegen-operator.name" .) -}}
{{- else -}}
{{- required "serviceAccount.create is false: set serviceAccount.name to the ServiceAccount that the operator is to use" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "codegen-operator.image" -}}
{{- $repository := required "set image.repository to where the operator's image lies, such as registry.example/codegen-operator" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "codegen-operator.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "codegen-operator.labels" -}}
{{ include "codegen-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* What no Pod of ours has, as validations over `variables.spec` and `variables.containers`. The argument begins the messages. */}}
{{- define "codegen-operator.shape" }}
    - expression: >-
        variables.spec.?nodeName.orValue('') == '' && variables.spec.?serviceAccountName.orValue('default') in ['', 'default']
        && variables.spec.?ephemeralContainers.orValue([]).size() == 0 && variables.spec.?resourceClaims.orValue([]).size() == 0
      message: {{ . }} names no node, no account and no device, and nothing joins it
    - expression: >-
        !has(variables.spec.securityContext) || (variables.spec.securityContext.?sysctls.orValue([]).size() == 0
        && !has(variables.spec.securityContext.seLinuxOptions) && !has(variables.spec.securityContext.windowsOptions)
        && variables.spec.securityContext.?appArmorProfile.?type.orValue('') != 'Unconfined')
      message: {{ . }} sets no parameter of the kernel, no SELinux or Windows options, and keeps AppArmor
    - expression: >-
        variables.containers.all(container, container.?ports.orValue([]).size() == 0 && container.?volumeDevices.orValue([]).size() == 0
        && !has(container.lifecycle) && !has(container.livenessProbe) && !has(container.readinessProbe) && !has(container.startupProbe))
      message: {{ . }} opens no port, mounts no device, and has no hooks and no probes, which nodes would follow
    - expression: >-
        variables.containers.all(container, !has(container.securityContext)
        || (container.securityContext.?procMount.orValue('Default') == 'Default'
        && container.securityContext.?seccompProfile.?type.orValue('RuntimeDefault') != 'Unconfined'
        && container.securityContext.?appArmorProfile.?type.orValue('') != 'Unconfined'
        && !has(container.securityContext.seLinuxOptions) && !has(container.securityContext.windowsOptions)))
      message: {{ . }} keeps the profiles of its Pod and the usual /proc in every container
{{- end }}

{{- /* The same for what is never root. */}}
{{- define "codegen-operator.never-root" -}}
variables.spec.?securityContext.?runAsNonRoot.orValue(false) && variables.spec.?securityContext.?runAsUser.orValue(1) != 0
        && variables.containers.all(container, container.?securityContext.?runAsNonRoot.orValue(true)
        && container.?securityContext.?runAsUser.orValue(1) != 0)
{{- end }}

{{- /* A sandbox whose outputs are checked in its Pod: the program's container, and when it has ended the operator's. */}}
{{- define "codegen-operator.checks-outputs" -}}
(object.metadata.?labels[?'codegen-operator.dev/component'].orValue('') == 'sandbox'
        && variables.spec.?initContainers.orValue([]).size() == 1 && variables.spec.initContainers[0].name == 'sandbox'
        && !has(variables.spec.initContainers[0].restartPolicy) && variables.spec.containers[0].name == 'checker')
{{- end }}

{{- /* The operator, as the API server knows it. */}}
{{- define "codegen-operator.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "codegen-operator.serviceAccount" . }}
{{- end }}

{{- /* Types of Secrets that the operator writes, as a list in CEL. */}}
{{- define "codegen-operator.secret-types" -}}
['codegen-operator.dev/job', 'codegen-operator.dev/outputs', 'codegen-operator.dev/record', 'codegen-operator.dev/result', 'codegen-operator.dev/signing-keys', 'codegen-operator.dev/snapshot']
{{- end }}

{{- /* A binding of the policy: (dict "root" $ "policy" name). */}}
{{- define "codegen-operator.binding" }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .policy }}
  labels: {{- include "codegen-operator.labels" .root | nindent 4 }}
spec:
  policyName: {{ .policy }}
  validationActions: [Deny]
{{- end }}

{{- /* Strings as a list in CEL. */}}
{{- define "codegen-operator.strings" -}}
[{{ range $number, $word := . }}{{ if $number }}, {{ end }}{{ $word | squote }}{{ end }}]
{{- end }}
