import { fillHeaders, SecretRefused, type Secrets } from '../fill-secrets.ts'
import { schemaProblem } from '../schemas/schema-size.ts'
import { PARAMETER, type Tool } from '../spec.ts'

/** Finds what is wrong with tools besides their shape. */
export function toolProblems(tools: readonly Tool[]): { field: string; error: string }[] {
  return tools.flatMap((tool, index) => {
    const problem = tool.type === 'http' ? schemaProblem(tool.input_schema) : undefined
    return problem ? [{ field: `tools.${index}.input_schema`, error: problem }] : []
  })
}

/**
 * Finds what will fail now, but can still be fixed by the operator: secrets that are missing or not allowed for the
 * host.
 */
export function toolWarnings(tools: readonly Tool[], secrets: Secrets): string[] {
  return tools.flatMap((tool) => {
    if (tool.type === 'ask_person') return []
    const url = new URL(tool.url.replace(PARAMETER, 'x'))
    const whose = tool.type === 'http' ? `Tool ${tool.name}` : `The MCP server ${url.host}`
    try {
      fillHeaders(tool.headers, url, secrets)
      return []
    } catch (error) {
      if (error instanceof SecretRefused) return [`${whose} will fail: ${error.message}`]
      throw error
    }
  })
}
