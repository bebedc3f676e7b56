import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import * as audit from './store.ts'

export const getAuditHead = operation({
  id: 'getAuditHead',
  method: 'GET',
  path: '/v1/audit-log/head',
  summary: 'Get the end of the audit chain',
  description:
    'Note it somewhere else: `moorage audit verify --pinned SEQ:HASH` proves later that nothing up to there was changed since.',
  permission: 'manage',
  reach: 'operator',
  data: z.object({ seq: z.int().describe('0 while there is no entry'), hash: z.string() }).meta({ id: 'AuditHead' }),

  async run(_input, { db }: Needs<'db'>) {
    return audit.getHead(db)
  },
})
