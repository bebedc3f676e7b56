import * as agents from '../../agents/store.ts'
import { conflict } from '../../errors.ts'
import { FileParams } from '../../files/file.ts'
import { getInReachOfRun } from '../../files/file-in-reach.ts'
import { requireRun } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { InvocationParams } from '../invocation.ts'
import * as invocations from '../store.ts'

export const getRunFile = operation({
  id: 'getRunFile',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/files/{file_id}',
  summary: 'Read a file of a run',
  description:
    'For remote agents, with the token of their call: the bytes of an attachment that was too large to come along, while the call is open and until the deadline of the run. A `Range` of bytes is answered with 206.',
  permission: null,
  ofRuns: true,
  userTokens: true,
  errors: ['conflict'],
  params: InvocationParams.extend(FileParams.shape),
  content: true,

  async run({ params }, { db, actor, bytes, now }: Needs<'db' | 'actor' | 'bytes' | 'now'>) {
    const run = requireRun(actor, params.request_id)
    const { seq } = await agents.get(db, params.agent_id)
    const stored = await invocations.find(db, seq, run.request_id)
    // A run that a client waits for may have no row before it has ended.
    const isOver = stored && (stored.status !== 'running' || stored.attempt !== run.attempt)
    if (isOver) throw conflict('This call of the agent is over')
    const file = await getInReachOfRun(db, run, params.file_id, now())
    return { ...file, read: (range) => bytes.read(file, range) }
  },
})
