import { requirePerson } from '../../operation/actor.ts'
import { operation } from '../../operation.ts'
import { listQuery } from '../../shapes.ts'
import { KeyReply, KeyStatus, presentKey } from '../key.ts'
import { withOwners } from '../key-names.ts'
import * as keys from '../store.ts'

export const listPersonalKeys = operation({
  id: 'listPersonalKeys',
  method: 'GET',
  path: '/v1/personal-keys',
  summary: 'List your personal keys',
  description: 'For people who are signed in. Lists the keys that you created in this project.',
  access: { permission: null, forPeople: true },
  input: {
    query: listQuery(['created_at', 'name', 'expires_at', 'last_used_at', 'id'], { status: KeyStatus.optional() }),
  },
  answer: { list: KeyReply },

  async run({ query }, { db, actor, shownAgents, now }) {
    const { person_id, reach } = requirePerson(actor)
    const { status, ...page } = query
    const { items, total } = await keys.list(db, page, { shown: await shownAgents(), reach, person_id, status }, now())
    const shown = items.map((key) => presentKey(key, now()))
    return { items: await withOwners(db, actor, shown), total }
  },
})
