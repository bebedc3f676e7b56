import { z } from 'zod'
import { duration, retention } from './values.ts'

/** How long things are kept. */
export const RetentionSettings = z.strictObject({
  logs: retention('30d').describe('How long log entries are kept'),
  invocations: retention('90d').describe('How long invocations are kept'),
  metrics: retention('400d').describe('How long metrics are kept'),
  deliveries: retention('30d').describe('How long webhook deliveries are kept'),
  audit: retention('400d').describe('How long the audit log is kept'),
  files: duration('1h', '36500d').optional().describe('How long files are kept. If not set: until they are deleted'),
  usage: retention('400d').describe('How long usage and costs are kept'),
})
