import { z } from 'zod'
import { NOT_ONE_LINE, ONE_LINE } from '../../lib/text/text.ts'

export const DEFAULT_ENVIRONMENT = 'production'

export const Environment = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -, starting with a letter or digit')

/** The name by which a model calls a tool. */
export const ToolLabel = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must be 1 to 64 letters, digits, _ and -, starting with a letter')

/** Another agent of the project, offered as a tool. Its answer is the result of the call. */
export const AgentTool = z.strictObject({
  type: z.literal('agent'),
  name: ToolLabel,
  description: z.string().max(4096).default(''),
  agent: z.string().min(1).max(128).regex(ONE_LINE, NOT_ONE_LINE).describe('Another agent of the project: ID or name'),
  environment: Environment.describe('The environment whose version is called').default(DEFAULT_ENVIRONMENT),
  memory: z
    .enum(['own', 'none', 'shared'])
    .describe(
      "`own`: the agent remembers the user as if they had called it directly. `none`: it reads and writes no memory. `shared`: it can read the calling agent's memory, and its answers are not remembered",
    )
    .default('own'),
})
export type AgentTool = z.infer<typeof AgentTool>
