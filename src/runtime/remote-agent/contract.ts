import { z } from 'zod'
import { plainIssue } from '../../lib/text/plain-issue.ts'
import { NotAnAnswer, type ReplyFields } from '../providers/protocols/read-events.ts'
import { DoneStep } from './asked-step.ts'

const AnyFields = z.record(z.string(), z.unknown())
const Role = z.enum(['user', 'assistant'])

/** What a remote agent receives about a run. */
export const RemoteCallBody = z
  .object({
    request_id: z.string(),
    attempt: z.int().min(1).describe('How many times the run has been started'),
    message: z.string(),
    context: AnyFields.describe("The request's context, such as `user_id` and `session_id`"),
    history: z.array(z.object({ role: Role, content: z.string() })).describe("The session's earlier turns"),
    summary: z.string().nullable().describe('A summary of what was said before the history'),
    recalled: z.array(z.object({ content: z.string(), role: Role.nullable(), created_at: z.iso.datetime() })),
    attachments: z.array(
      z.object({
        file_id: z.string(),
        name: z.string(),
        media_type: z.string(),
        size: z.int().min(0),
        data: z
          .string()
          .nullable()
          .describe(
            "base64; null if the call's files are too large together, or the file has been deleted since the run started",
          ),
        url: z
          .url()
          .nullable()
          .describe('Where to download a file that is too large to include, with `steps_token`, until `deadline`'),
      }),
    ),
    instructions: z.string().nullable(),
    model: z.union([z.string(), z.array(z.string()).readonly()]),
    temperature: z.number().nullable(),
    output: z.object({ schema: AnyFields }).nullable().describe('Present if the answer must be JSON'),
    unfit: z
      .object({ answer: z.string(), problem: z.string() })
      .nullable()
      .describe("The previous answer, if it didn't match"),
    tools: z.array(z.object({ name: z.string(), description: z.string(), input_schema: AnyFields })),
    steps: z.array(DoneStep).describe('The steps done so far'),
    said: z.string().describe('The answer so far, which is already stored'),
    deadline: z.iso.datetime(),
    steps_url: z.url().describe('Where to send steps'),
    steps_token: z.string(),
  })
  .meta({ id: 'Call' })
export type RemoteCallBody = z.input<typeof RemoteCallBody>

const Tokens = z.int().min(0).max(1e12).default(0)
const Spent = z
  .object({ model: z.string().nullish(), input_tokens: Tokens, output_tokens: Tokens })
  .meta({ id: 'Usage', description: 'Reports usage of models that the agent called on its own' })
const Logged = z
  .object({ level: z.string().optional().describe('debug, info, warn or error'), message: z.string() })
  .meta({ id: 'Log' })
const Failed = z.object({ message: z.string().default('') }).meta({ id: 'Failure' })

/** The `data` of the events of a stream, by their names. */
export const REMOTE_EVENTS = {
  delta: z.object({ text: z.string() }).meta({ id: 'Delta', description: 'A chunk of the answer' }),
  log: Logged,
  usage: Spent,
  done: z
    .object({ output: z.unknown().optional().describe('The structured output, if a schema was set') })
    .meta({ id: 'Done', description: 'The answer is complete' }),
  error: Failed,
}

/** An answer in one piece. It contains what the events of a stream would contain. */
export const RemoteAnswer = z
  .object({
    response: z.string().nullish(),
    output: z.unknown().optional().describe('The structured output, if a schema was set'),
    usage: z.union([Spent, z.array(Spent)]).nullish(),
    logs: z.union([Logged, z.array(Logged)]).nullish(),
    error: Failed.nullish(),
  })
  .meta({ id: 'Answer' })

export function readShape<Shape extends z.ZodType>(shape: Shape, fields: ReplyFields): z.output<Shape> {
  const read = shape.safeParse(fields, { error: (issue) => plainIssue(issue) })
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new NotAnAnswer(`${issue?.path.join('.')}: ${issue?.message}`)
}
