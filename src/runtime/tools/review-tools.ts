import type { Tool } from '../spec.ts'
import { schemaProblem } from './input-schema.ts'

/** What is wrong with tools beyond their shape. */
export function toolProblems(tools: readonly Tool[]): { field: string; error: string }[] {
  return tools.flatMap((tool, index) => {
    const problem = tool.type === 'http' ? schemaProblem(tool.input_schema) : undefined
    return problem ? [{ field: `tools.${index}.input_schema`, error: problem }] : []
  })
}
