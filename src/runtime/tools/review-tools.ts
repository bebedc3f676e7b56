import { fillHeaders, SecretRefused, type Secrets } from '../fill-secrets.ts'
import { PARAMETER, type Tool } from '../spec.ts'
import { schemaProblem } from './input-schema.ts'

/** What is wrong with tools beyond their shape. */
export function toolProblems(tools: readonly Tool[]): { field: string; error: string }[] {
  return tools.flatMap((tool, index) => {
    const problem = tool.type === 'http' ? schemaProblem(tool.input_schema) : undefined
    return problem ? [{ field: `tools.${index}.input_schema`, error: problem }] : []
  })
}

/** What will fail as things are, though the operator can still mend it: secrets that are missing or not for this host. */
export function toolWarnings(tools: readonly Tool[], secrets: Secrets): string[] {
  return tools.flatMap(({ headers, ...tool }) => {
    const url = new URL(tool.url.replace(PARAMETER, 'x'))
    const whose = tool.type === 'http' ? `Tool ${tool.name}` : `The MCP server ${url.host}`
    try {
      fillHeaders(headers, url, secrets)
      return []
    } catch (error) {
      if (error instanceof SecretRefused) return [`${whose} will fail: ${error.message}`]
      throw error
    }
  })
}
