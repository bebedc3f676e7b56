import { z } from 'zod'
import { operation } from '../operation.ts'
import * as audit from './store.ts'

export const getAuditHead = operation({
  id: 'getAuditHead',
  method: 'GET',
  path: '/v1/audit-log/head',
  summary: "Get the latest audit log entry's hash",
  description:
    'Store the hash and its `seq` outside the service. `moorage audit verify --pinned SEQ:HASH` can then prove that no entry up to this one was changed.',
  access: { permission: 'manage', reach: 'operator' },
  answer: {
    data: z.object({ seq: z.int().describe('0 if there are no entries'), hash: z.string() }).meta({ id: 'AuditHead' }),
  },

  async run(_input, { db }) {
    return audit.getHead(db)
  },
})
