import type { ApiError, ErrorCode } from '../../errors.ts'
import type { AuditTrail } from '../../operation/audit-trail.ts'
import type { Operation } from '../../operation.ts'
import { DEFAULT_PROJECT } from '../../storage/tables/project-tables.ts'
import type { ArrivedRequest } from './request.ts'

const REFUSALS = new Set<ErrorCode>(['unauthorized', 'mfa_required', 'forbidden', 'https_required', 'rate_limited'])

/** Records in the audit log that a request, or a call in it, was refused. Other errors aren't recorded. */
export function reportRefusal(
  audit: AuditTrail,
  arrived: ArrivedRequest,
  { code }: ApiError,
  operation: Operation | undefined = arrived.route?.operation,
): void {
  if (!REFUSALS.has(code)) return
  const { trace, request_id, address } = arrived
  audit.refuse({
    code,
    actor: trace.actor,
    action: operation?.id ?? trace.action ?? null,
    project_id: trace.actor?.scope.project_id ?? DEFAULT_PROJECT,
    agent_id: trace.agent_id,
    target: null,
    request_id,
    address,
  })
}
