import { schemaProblem } from '../schemas/schema-size.ts'
import { PARAMETER, type Tool } from '../spec.ts'
import { fillHeaders, SecretRefused, type Secrets } from './fill-secrets.ts'

/** Finds problems of tools that their shapes don't show. */
export function toolProblems(tools: readonly Tool[]): { field: string; error: string }[] {
  return tools.flatMap((tool, index) => {
    const problem = tool.type === 'http' ? schemaProblem(tool.input_schema) : undefined
    return problem ? [{ field: `tools.${index}.input_schema`, error: problem }] : []
  })
}

/** What the operator allows: the secrets, and why a URL must not be called, if so. */
type OperatorRules = { secrets: Secrets; whyRefused(url: URL): string | undefined }

/**
 * Finds what would fail now but can still be fixed by the operator: URLs that must not be called, and secrets that are
 * missing or not allowed for the host.
 */
export function toolWarnings(tools: readonly Tool[], { secrets, whyRefused }: OperatorRules): string[] {
  return tools.flatMap((tool) => {
    if (tool.type === 'ask_person' || tool.type === 'agent') return []
    const url = new URL(tool.url.replace(PARAMETER, 'x'))
    const whose = tool.type === 'http' ? `Tool ${tool.name}` : `The MCP server ${url.host}`
    const reasons = [whyRefused(url), whySecretsFail(tool.headers, url, secrets)]
    return reasons.flatMap((reason) => (reason ? [`${whose} will fail: ${reason}`] : []))
  })
}

function whySecretsFail(headers: Record<string, string>, url: URL, secrets: Secrets): string | undefined {
  try {
    fillHeaders(headers, url, secrets)
    return undefined
  } catch (error) {
    if (error instanceof SecretRefused) return error.message
    throw error
  }
}
