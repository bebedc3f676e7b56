import type { AgentTool } from './called-agent.ts'
import { type AskAgent, type RunTool, ToolError } from './tool.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    message: { type: 'string', minLength: 1, maxLength: 100_000, description: 'The message to the agent' },
  },
  required: ['message'],
  additionalProperties: false,
}

/** Asks another agent. Repeating the call is safe, because its key finds the run that it started the first time. */
export function agentTool(tool: AgentTool, askAgent: AskAgent): RunTool {
  const { name, description } = tool
  return {
    definition: { name, description, input_schema: INPUT_SCHEMA },
    retry: 'safe',
    approval: 'never',
    call: ({ message }, { 'Idempotency-Key': key = '', traceparent }) =>
      askAgent(tool, { message: String(message), key, traceparent }),
  }
}

/** For work that isn't a run, because it couldn't wait for the other agent. */
export const askNoAgent: AskAgent = async () => {
  throw new ToolError('Agents can only be called in a run')
}
