import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { CreateAgentBody } from '../../../agents/agent.ts'
import { readConfigFile } from '../../../config/config-file.ts'
import { inOrder, misfitsOf, type Problem, plainMessage, tellFirst, unknownKey } from '../../../config/problems.ts'
import { keysAt, pathText } from '../../../config/settings.ts'
import { EXIT, Failure } from '../../failure.ts'
import type { World } from '../../world.ts'

/** An agent as its file describes it. Fields that are missing in the file have their defaults. */
export type AgentFile = {
  path: string
  body: ReturnType<typeof CreateAgentBody.parse>
  /** The fields that are in the file. */
  given: Record<string, unknown>
}

/** Reports every mistake at once, each with its position. */
export function readAgentFile({ cwd }: World, path: string): AgentFile {
  if (!existsSync(resolve(cwd, path))) {
    throw new Failure(
      EXIT.usage,
      `${path} not found in this folder.`,
      '  Create one with `moorage init <name>`, or name another file with -f',
    )
  }
  const file = readConfigFile(path, cwd, true)
  if (file.problems.length > 0) throw mistakes(file.problems)
  const parsed = CreateAgentBody.safeParse(file.value, { error: plainMessage })
  if (parsed.success) return { path, body: parsed.data, given: file.value }
  throw mistakes(
    tellFirst(misfitsOf(parsed.error.issues), ({ path: at, message }) => {
      const position = file.positionOf(at, message === undefined ? 'key' : 'value')
      const problem = message ?? unknownKey(String(at.at(-1)), keysAt(agentFields(), at.slice(0, -1)), 'field')
      return [{ ...position, text: `${position?.where ?? path}: ${pathText(at)}: ${problem}` }]
    }),
  )
}

function mistakes(problems: Problem[]): Failure {
  return new Failure(EXIT.usage, inOrder(problems).join('\n'))
}

/** The JSON Schema of `agent.yaml`, for editors. */
export function agentSchema(): object {
  const { id: _, ...schema } = z.toJSONSchema(CreateAgentBody, { io: 'input' })
  return { title: 'Moorage agent', ...schema }
}

/** The part of that schema with the fields of an agent. */
function agentFields(): z.core.JSONSchema.BaseSchema {
  const schema = z.toJSONSchema(CreateAgentBody, { io: 'input' })
  return schema.$defs?.['CreateAgent'] ?? schema
}
