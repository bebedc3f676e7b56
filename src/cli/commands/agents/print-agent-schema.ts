import { z } from 'zod'
import { CreateAgentBody } from '../../../agents/agent.ts'

/** The JSON Schema of `agent.yaml`, for editors. */
export function agentSchema(): object {
  const { id: _, ...schema } = z.toJSONSchema(CreateAgentBody, { io: 'input' })
  return { title: 'Moorage agent', ...schema }
}

/** The part of that schema with the fields of an agent. */
export function agentFields(): z.core.JSONSchema.BaseSchema {
  const schema = z.toJSONSchema(CreateAgentBody, { io: 'input' })
  return schema.$defs?.['CreateAgent'] ?? schema
}
