import { z } from 'zod'
import { duration, retention } from './values.ts'

/** How long things are kept. */
export const RetentionSettings = z.strictObject({
  logs: retention('30d').describe('How long to keep log entries'),
  invocations: retention('90d').describe('How long to keep invocations'),
  metrics: retention('400d').describe('How long to keep metrics'),
  deliveries: retention('30d').describe('How long to keep deliveries of webhooks and triggers'),
  audit: retention('400d').describe('How long to keep the audit log'),
  files: duration('1h', '36500d').optional().describe('How long files are kept. If not set: until they are deleted'),
  usage: retention('400d').describe('How long usage and costs are kept'),
})
