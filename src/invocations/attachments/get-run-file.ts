import { conflict } from '../../errors.ts'
import { FileParams } from '../../files/file.ts'
import { getInReachOfRun } from '../../files/file-in-reach.ts'
import { requireRun } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { InvocationParams } from '../invocation.ts'
import { isUnderWay } from '../steps/run-under-way.ts'

export const getRunFile = operation({
  id: 'getRunFile',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/files/{file_id}',
  summary: "Download a run's file (remote agents)",
  description:
    "Remote agents use this endpoint with their call's token to read an attachment that was too large to be included in the call. It works while the call is open, until the run's deadline; after that, the request fails with 409. A `Range` of bytes is answered with 206.",
  access: { permission: null, userTokens: true, ofRuns: true },
  input: { params: InvocationParams.extend(FileParams.shape) },
  answer: { content: true, errors: ['conflict'] },

  async run({ params }, parts: Needs<'db' | 'actor' | 'bytes' | 'now' | 'runtime' | 'storage'>) {
    const { actor, bytes, db, now } = parts
    const run = requireRun(actor, params.request_id)
    if (!(await isUnderWay(run, parts))) throw conflict('This call to the agent has ended.')
    const file = await getInReachOfRun(db, run, params.file_id, now())
    return { ...file, read: (range) => bytes.read(file, range) }
  },
})
