import { CreateAgentBody } from '../../../agents/agent.ts'
import { readConfigFile } from '../../../config/config-file.ts'
import { EXIT, Failure } from '../../failure.ts'
import type { World } from '../../world.ts'

/** An agent as its file describes it: every field, those that the file leaves out with their defaults. */
export type AgentFile = {
  path: string
  body: ReturnType<typeof CreateAgentBody.parse>
  /** What the file itself says. */
  given: Record<string, unknown>
}

/** Every mistake at once, each with its place. */
export function readAgentFile({ cwd }: World, path: string): AgentFile {
  const file = readConfigFile(path, cwd, true)
  if (file.problems.length > 0) throw mistakes(file.problems.map(({ text }) => text))
  const parsed = CreateAgentBody.safeParse(file.value)
  if (parsed.success) return { path, body: parsed.data, given: file.value }
  throw mistakes(
    parsed.error.issues.flatMap((issue) => {
      const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
      return paths.map((at) => {
        const place = file.placeOf(at as (string | number)[], issue.code === 'unrecognized_keys' ? 'key' : 'value')
        const message = issue.code === 'unrecognized_keys' ? 'unknown field' : issue.message
        return `${place?.where ?? path}: ${at.map(String).join('.')}: ${message}`
      })
    }),
  )
}

function mistakes(problems: string[]): Failure {
  return new Failure(EXIT.usage, problems.join('\n'))
}
