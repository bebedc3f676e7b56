import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { operation } from '../../operation.ts'
import { Cancellation } from '../../runtime/deadline.ts'
import { schemaProblem } from '../../runtime/schemas/schema-size.ts'
import { Tool } from '../../runtime/spec.ts'
import { Label } from '../../shapes.ts'
import { AgentParams } from '../agent.ts'

const TestToolBody = z
  .strictObject({
    tool: Tool.describe("A tool, in the same form as in an agent's `tools`. The agent doesn't have to use it yet"),
    call: z
      .strictObject({
        name: Label(128)
          .optional()
          .describe('Which tool of an MCP server to call; not needed for other kinds of tools'),
        arguments: z.record(z.string(), z.unknown()).default({}),
      })
      .optional()
      .describe('The call to make. If absent, the reply lists the tools that the model would be offered'),
  })
  .meta({ id: 'TestTool' })

export const testTool = operation({
  id: 'testTool',
  method: 'POST',
  path: '/v1/agents/{agent_id}/tools/test',
  summary: 'Test a tool',
  description:
    'Calls a tool once, as a run of the agent would: with its secrets, under the rules of `outgoing`, and with checked arguments. The call has real effects, and needs no approval. Nothing is stored except an entry in the audit log.',
  access: { permission: 'write' },
  mfa: { policy: 'update' },
  audit: { target: 'agent_id' },
  idempotent: true,
  // No transaction, because it waits for the tool.
  transaction: false,
  input: { params: AgentParams, body: TestToolBody },
  answer: {
    data: z
      .object({
        tools: z
          .array(
            z.object({ name: z.string(), description: z.string(), input_schema: z.record(z.string(), z.unknown()) }),
          )
          .describe('The tools that the model would be offered'),
        result: z.string().nullable().describe('The result as the model would see it'),
        error: z.string().nullable().describe('Why the tool could not be used or called'),
        duration_ms: z.int(),
      })
      .meta({ id: 'ToolTest' }),
  },

  async run({ params: { agent_id }, body: { tool, call } }, { actor, runtime, request_id, repeatable, onHangUp, now }) {
    const problem = tool.type === 'http' ? schemaProblem(tool.input_schema) : undefined
    if (problem) throw invalid({ field: 'tool.input_schema', error: problem })
    if (call && tool.type === 'ask_person')
      throw invalid({
        field: 'call',
        error: "can't be used with `ask_person` tools: they ask a person instead of calling something",
      })
    if (call && tool.type === 'agent')
      throw invalid({ field: 'call', error: "can't be used with agent tools; invoke the agent instead" })
    const cancellation = new Cancellation()
    onHangUp?.(() => cancellation.cancel())
    const started = now()
    // The same request may have called the tool before its process died. The tool's server recognizes the call by its
    // key.
    const key = repeatable?.earlier ?? request_id
    const tried = await runtime.tryTool(tool, call, { project_id: actor.scope.project_id, agent_id, key, cancellation })
    return { ...tried, duration_ms: now() - started }
  },
})
