import { notFound } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import { KnownAnswer } from '../operation/known-answer.ts'
import { operation } from '../operation.ts'
import { AgentParams, AgentReply, presentAgent } from './agent.ts'
import { findEntered, type SnapshotParts } from './agent-snapshot.ts'

export const getAgent = operation({
  id: 'getAgent',
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  summary: 'Get an agent',
  description:
    "Returns the agent's draft. Secrets in `auth` are returned as hints. `digest` is the SHA-256 hash of the fields that a deployment would save.",
  access: { permission: 'read', userTokens: true },
  input: { params: AgentParams },
  answer: { data: AgentReply },

  async run({ params: { agent_id } }, context: SnapshotParts & Needs<'entered' | 'keyring'>) {
    const snapshot = await findEntered(agent_id, context)
    if (!snapshot) throw notFound('Agent', agent_id)
    snapshot.shown ??= new KnownAnswer(presentAgent(snapshot.agent, context.keyring))
    return snapshot.shown
  },
})
