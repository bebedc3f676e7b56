import * as agents from '../agents/store.ts'
import { conflict } from '../errors.ts'
import { withKeyName } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { presentReplay, ReplayParams, ReplayReply } from './replay-record.ts'
import * as replays from './store.ts'

export const cancelReplay = operation({
  id: 'cancelReplay',
  method: 'POST',
  path: '/v1/agents/{agent_id}/replays/{replay_id}/cancel',
  summary: 'Cancel a replay',
  description: 'Stops the replay. Answers that it already has are kept. If it was already cancelled, returns 200.',
  access: { permission: 'write' },
  audit: { target: 'replay_id' },
  idempotent: true,
  input: { params: ReplayParams },
  answer: { data: ReplayReply, errors: ['conflict'] },

  async run({ params }, { actor, db, now }) {
    const agent = await agents.get(db, params.agent_id)
    const { id } = await replays.get(db, agent.seq, params.replay_id)
    if (await replays.lockRunning(db, id)) await replays.cancel(db, id, now())
    const replay = await replays.get(db, agent.seq, id)
    if (replay.status === 'completed') throw conflict('The replay has already completed.')
    return withKeyName(db, actor, presentReplay(replay, agent.id), ['created_by'])
  },
})
