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
    message: Text(20_000).describe('What the agent is told').default('Hello'),
    timeout_ms: z
      .int()
      .min(100)
      .max(600_000)
      .describe(
        'How long each call may take, and never longer than `remote.timeout_ms`. The whole check ends after 10 min',
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
    'Tries point by point whether a remote agent keeps the contract, as its working copy has it: with its address, its headers and its secret, under the rules of `outgoing`. The agent is called up to eight times; no tool is called, and no model or person is asked. Of an A2A agent the card is read, and no message is sent. Nothing is stored but an entry in the audit log.',
  permission: 'write',
  audit: { target: 'agent_id' },
  mfa: 'update',
  idempotent: true,
  // No transaction, because it waits for the agent.
  transaction: false,
  errors: ['conflict'],
  params: AgentParams,
  body: CheckRemoteBody,
  data: z
    .object({
      points: z.array(CheckedPoint),
      error: z.string().nullable().describe('Why there are no more points, if it could not go on'),
      duration_ms: z.int(),
    })
    .meta({ id: 'RemoteCheck' }),

  async run(
    { params: { agent_id }, body },
    context: SnapshotParts & Needs<'actor' | 'entered' | 'now' | 'onHangUp' | 'runtime'>,
  ) {
    const { actor, now, onHangUp, runtime } = context
    const agent = (await findEntered(agent_id, context))?.agent
    if (!agent) throw notFound('Agent', agent_id)
    if (!agent.remote) throw conflict(`Agent ${agent.name} does not run elsewhere: there is nothing to check`)
    const cancellation = new Cancellation()
    onHangUp?.(() => cancellation.cancel())
    const started = now()
    const { project_id } = actor.scope
    const checked = await runtime.checkRemote({ project_id, agent_id: agent.id, agent }, { ...body, cancellation })
    return { ...checked, duration_ms: now() - started }
  },
})
