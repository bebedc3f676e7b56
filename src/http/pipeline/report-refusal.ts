import type { ApiError, ErrorCode } from '../../errors.ts'
import type { AuditTrail } from '../../operation/audit-trail.ts'
import type { Exchange } from './exchange.ts'

const REFUSALS = new Set<ErrorCode>(['unauthorized', 'mfa_required', 'forbidden', 'https_required', 'rate_limited'])

/** Tells the audit log who was not let in; other errors are no refusals. */
export function reportRefusal(audit: AuditTrail, exchange: Exchange, { code }: ApiError): void {
  if (!REFUSALS.has(code)) return
  const { actor, route, agent, request_id, address } = exchange
  audit.refuse({
    code,
    actor: actor ?? null,
    action: route?.operation.id ?? null,
    agent_id: agent?.id ?? null,
    target: null,
    request_id,
    address,
  })
}
