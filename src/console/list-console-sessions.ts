import { z } from 'zod'
import { operation } from '../operation.ts'
import { covers } from '../security/permissions.ts'
import { listQuery } from '../shapes.ts'
import { ConsoleSessionReply } from './console-session.ts'
import * as sessions from './store.ts'

export const listConsoleSessions = operation({
  id: 'listConsoleSessions',
  method: 'GET',
  path: '/v1/console-sessions',
  summary: 'List console sessions',
  description:
    'Lists who is signed in to the console, with which key or as which person, and from where. Without the permission `manage`, the list contains only your own sessions.',
  access: { permission: 'manage', ownPermission: 'read' },
  input: {
    query: listQuery(['created_at', 'last_used_at', 'expires_at'], {
      key_id: z.string().optional(),
      person_id: z.string().optional(),
    }),
  },
  answer: { list: ConsoleSessionReply },

  async run({ query }, { db, actor, config, shownAgents, now }) {
    const { key_id, person_id, ...page } = query
    const own = covers(actor.permissions, 'manage') ? undefined : [actor.id, actor.person_id ?? actor.id]
    const { items, total } = await sessions.list(db, page, {
      shown: await shownAgents(),
      reach: actor.reach,
      key_id,
      person_id,
      own,
      now: now(),
      idle_ms: config.console.idleTimeout,
    })
    return { items: items.map((item) => ({ ...item, current: item.id === actor.console_session })), total }
  },
})
