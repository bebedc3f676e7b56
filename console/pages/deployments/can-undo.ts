import type { Deployment, Pagination } from '../../../sdk/client.ts'

/**
 * Whether a rollback has something to return to: an earlier deployment of another version that wasn't rolled back
 * itself. If not all earlier deployments are listed, the service decides.
 */
export function canUndo(
  active: Deployment,
  history: { data: Deployment[]; pagination: Pagination } | undefined,
): boolean {
  if (active.replaces === null) return false
  const at = history?.data.findIndex(({ id }) => id === active.id) ?? -1
  if (!history || at === -1) return true
  const bad = new Set([active.version])
  for (const { environment, status, version } of history.data.slice(at + 1)) {
    // One that was aborted has never served all messages.
    if (environment !== active.environment || status === 'aborted') continue
    if (status === 'rolled_back') bad.add(version)
    if (!bad.has(version)) return true
  }
  return history.pagination.has_more
}
