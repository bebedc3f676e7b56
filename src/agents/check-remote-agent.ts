import { z } from 'zod'
import { conflict, notFound } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { Cancellation } from '../runtime/deadline.ts'
import { CheckedPoint } from '../runtime/remote-agent/check/check-points.ts'
import { Text } from '../shapes.ts'
import { AgentParams } from './agent.ts'
import { findEntered, type SnapshotParts } from './agent-snapshot.ts'

const CheckRemoteBody = z
  .strictObject({
    message: Text(20_000).describe('The message sent to the agent').default('Hello'),
    timeout_ms: z
      .int()
      .min(100)
      .max(600_000)
      .describe(
        'Timeout of each call, in milliseconds. `remote.timeout_ms` is the upper limit. The whole check ends after 10 minutes',
      )
      .default(30_000),
  })
  .meta({ id: 'CheckRemote' })

export const checkRemote = operation({
  id: 'checkRemote',
  method: 'POST',
  path: '/v1/agents/{agent_id}/remote/check',
  summary: 'Check a remote agent',
  description:
    "Checks whether a remote agent follows the contract, point by point. The check uses the draft's URL, headers and secret, and follows the rules of `outgoing`. The agent is called up to eight times; tools, models and people are simulated. For an A2A agent, only the agent card is read and no message is sent. Nothing is stored except an entry in the audit log. Allow up to 10 minutes for the whole check. If the agent isn't remote, the request fails with 409.",
  access: { permission: 'write' },
  mfa: { policy: 'update' },
  audit: { target: 'agent_id' },
  idempotent: true,
  // No transaction, because it waits for the agent.
  transaction: false,
  input: { params: AgentParams, body: CheckRemoteBody },
  answer: {
    data: z
      .object({
        points: z.array(CheckedPoint),
        error: z.string().nullable().describe('Why the check stopped early, if it did'),
        duration_ms: z.int(),
      })
      .meta({ id: 'RemoteCheck' }),
    errors: ['conflict'],
  },

  async run(
    { params: { agent_id }, body },
    context: SnapshotParts & Needs<'actor' | 'entered' | 'now' | 'onHangUp' | 'runtime'>,
  ) {
    const { actor, now, onHangUp, runtime } = context
    const agent = (await findEntered(agent_id, context))?.agent
    if (!agent) throw notFound('Agent', agent_id)
    if (!agent.remote) throw conflict(`Agent "${agent.name}" is not a remote agent, so there is nothing to check.`)
    const cancellation = new Cancellation()
    onHangUp?.(() => cancellation.cancel())
    const started = now()
    const { project_id } = actor.scope
    const checked = await runtime.checkRemote({ project_id, agent_id: agent.id, agent }, { ...body, cancellation })
    return { ...checked, duration_ms: now() - started }
  },
})
