import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CreateAgentBody } from '../../../agents/agent.ts'
import { readConfigFile } from '../../../config/config-file.ts'
import { misfitsOf, type Problem, tellFirst } from '../../../config/problems.ts'
import { EXIT, Failure } from '../../failure.ts'
import type { World } from '../../world.ts'

/** An agent as its file describes it. Fields that the file leaves out have their defaults. */
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
      `There is no ${path} here`,
      '  `moorage init <name>` writes one; -f names another file',
    )
  }
  const file = readConfigFile(path, cwd, true)
  if (file.problems.length > 0) throw mistakes(file.problems)
  const parsed = CreateAgentBody.safeParse(file.value)
  if (parsed.success) return { path, body: parsed.data, given: file.value }
  throw mistakes(
    tellFirst(misfitsOf(parsed.error.issues), ({ path: at, message }) => {
      const where = file.positionOf(at, message === undefined ? 'key' : 'value')?.where ?? path
      return [{ text: `${where}: ${at.map(String).join('.')}: ${message ?? 'unknown field'}` }]
    }),
  )
}

function mistakes(problems: Problem[]): Failure {
  return new Failure(EXIT.usage, problems.map(({ text }) => text).join('\n'))
}
