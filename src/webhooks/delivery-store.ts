import type { BulkTable } from '../storage/bulk.ts'

export const EVENTS: BulkTable = { table: 'events', columns: ['id', 'type', 'body'] }

export const DELIVERIES: BulkTable = {
  table: 'deliveries',
  columns: [
    'id',
    'webhook_id',
    'event_id',
    'event',
    'status',
    'tries',
    'attempt_count',
    'attempts',
    'next_attempt_at',
    'created_at',
  ],
}
