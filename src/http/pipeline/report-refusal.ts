import type { ApiError, ErrorCode } from '../../errors.ts'
import type { AuditTrail } from '../../operation/audit-trail.ts'
import type { Arrived } from './stages.ts'

const REFUSALS = new Set<ErrorCode>(['unauthorized', 'mfa_required', 'forbidden', 'https_required', 'rate_limited'])

/** Tells the audit log about a request that was refused. Other errors are not reported. */
export function reportRefusal(audit: AuditTrail, arrived: Arrived, { code }: ApiError): void {
  if (!REFUSALS.has(code)) return
  const { trace, route, request_id, address } = arrived
  audit.refuse({
    code,
    actor: trace.actor,
    action: route?.operation.id ?? trace.action ?? null,
    agent_id: trace.agent_id,
    target: null,
    request_id,
    address,
  })
}
