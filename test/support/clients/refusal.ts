// The parts of a refusal that programs read. The message is for people: the approved texts contain it, and it can be
// improved freely.
import assert from 'node:assert/strict'
import type { ErrorCode } from '../../../src/errors.ts'
import type { Reply } from '../service/service.ts'

type Refused = { error?: { code: string; details?: { field: string }[] } }

/** The invalid fields. */
export const fieldsOf = ({ error }: Refused): string[] => (error?.details ?? []).map(({ field }) => field)

/** Checks the whole body of an error: it contains only the message and what is expected. */
export function assertRefusal(
  { status, headers, body }: Pick<Reply, 'status' | 'headers' | 'body'>,
  expected: number,
  code: ErrorCode,
  more: { retry_after?: number; details?: unknown } = {},
): void {
  assert.equal(status, expected, JSON.stringify(body))
  const { message, ...error } = body.error
  assert.ok(message.length > 0)
  const request_id = headers.get('x-request-id')
  assert.deepEqual({ ...body, error }, { success: false, error: { code, ...more }, request_id })
}
