import { z } from 'zod'
import { CreateAgentBody } from '../../../agents/agent.ts'

/** JSON Schema of `agent.yaml`, for editors. */
export function agentSchema(): object {
  const { id: _, ...schema } = z.toJSONSchema(CreateAgentBody, { io: 'input' })
  return { title: 'Moorage agent', ...schema }
}
