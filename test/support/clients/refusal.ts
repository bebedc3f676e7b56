// What a program reads of a refusal. Its sentence is for people: the approved texts hold it, and it is free to improve.
import assert from 'node:assert/strict'
import type { ErrorCode } from '../../../src/errors.ts'
import type { Reply } from '../service/service.ts'

type Refused = { error?: { code: string; details?: { field: string }[] } }

/** The fields that are wrong. */
export const fieldsOf = ({ error }: Refused): string[] => (error?.details ?? []).map(({ field }) => field)

/** The whole body of an error: nothing is in it besides the sentence and what is expected. */
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
