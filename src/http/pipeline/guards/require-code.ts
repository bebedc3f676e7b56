import { ApiError } from '../../../errors.ts'
import { type Operation, protectedNames } from '../../../operation.ts'
import type { Gate } from '../../../security/gate.ts'
import type { AttemptResult } from '../../../security/one-time-code.ts'
import type { AuthorizedCall } from '../request.ts'

/** Checks a key's one-time code and uses it up. Returns undefined for a key without a second factor. */
export type SpendCode = (key_id: string, code: string) => Promise<AttemptResult | undefined>

const HEADER = 'x-service-otp'
const CODE = /^\d{6}$/

/**
 * The request's one-time code, if the service or the agent requires one for this operation. People whose identity
 * provider has required a second factor don't need one. `called` finds the gates of the agents that the input lets
 * another agent call.
 */
export async function readCode(
  { arrived, actor, operation }: AuthorizedCall,
  body: unknown,
  { gates, called }: { gates: Gate[]; called(): Promise<Gate[]> },
): Promise<string | undefined> {
  const { kind, is_strong } = actor
  if (is_strong) return undefined
  // Finding the called agents requires reading what the request is about, and a request without its code must learn
  // nothing about that.
  const isInvoking = async () => (await called()).some(({ mfa }) => mfa?.has('invoke'))
  if (!needsCode(operation, body, gates) && !(await isInvoking())) return undefined
  const code = arrived.message.headers[HEADER]
  if (kind !== 'key' && kind !== 'person') {
    throw codeRequired("This requires a one-time code, and tokens don't support one-time codes. Use an API key.")
  }
  if (typeof code !== 'string' || !CODE.test(code)) {
    throw codeRequired('A one-time code is required. Send the six digits in the X-Service-OTP header.')
  }
  return code
}

/** Refuses an invalid code. `result` is the outcome of checking it. */
export function requireRight(result: AttemptResult | undefined): void {
  if (result === undefined) throw codeRequired('A one-time code is required, but this key has no second factor yet.')
  if (result.ok) return
  if (result.reason === 'locked') {
    throw new ApiError(
      'rate_limited',
      'Too many wrong one-time codes. Codes for this key are locked; see `retry_after`.',
      {
        retry_after: Math.max(1, Math.ceil(result.retry_after_ms / 1000)),
      },
    )
  }
  // The reply is the same for a used code and a wrong code, so someone who has seen a code learns nothing.
  throw codeRequired('This one-time code is wrong or was already used.')
}

function needsCode(operation: Operation, body: unknown, gates: Gate[]): boolean {
  if (operation.mfa?.policy === 'always') return true
  const policies = gates.flatMap(({ mfa }) => mfa ?? [])
  if (policies.length === 0) return false
  // Changing the policy always requires a code. Otherwise, an actor could first switch the policy off.
  const fields = Object.keys(Object(body))
  if (operation.mfa?.accessFields?.some((field) => fields.includes(field))) return true
  const names = [...protectedNames(operation), ...fields.flatMap((field) => operation.mfa?.fields?.[field] ?? [])]
  return names.some((name) => policies.some((policy) => policy.has(name)))
}

/** RFC 9470 defines `insufficient_user_authentication` for a missing authentication step. */
function codeRequired(message: string): ApiError {
  return new ApiError('mfa_required', message, {
    headers: { 'WWW-Authenticate': 'Bearer realm="moorage", error="insufficient_user_authentication"' },
  })
}
