const LOOKS: Record<string, string> = {
  running: 'good',
  completed: 'good',
  active: 'good',
  enabled: 'good',
  delivered: 'good',
  approved: 'good',
  accepted: 'good',
  healthy: 'good',
  answers: 'good',
  live: 'good',
  success: 'good',
  intact: 'good',
  ok: 'good',
  passed: 'good',
  improved: 'good',
  inconclusive: 'warn',
  regression: 'bad',
  regressed: 'bad',
  queued: 'wait',
  rolling_out: 'wait',
  waiting: 'wait',
  pending: 'wait',
  started: 'wait',
  paused: 'warn',
  degraded: 'warn',
  unknown: 'warn',
  disabled: 'warn',
  expired: 'warn',
  warn: 'warn',
  not_tried: 'warn',
  failed: 'bad',
  failing: 'bad',
  broken: 'bad',
  silent: 'bad',
  rejected: 'bad',
  error: 'bad',
  revoked: 'bad',
  denied: 'bad',
  refused: 'bad',
}

/** A status is a dot and a word, because some readers can't tell colors apart. */
export function Status({ value, isLive }: { value: string; isLive?: boolean }) {
  return (
    <span class={`status ${LOOKS[value] ?? 'off'}${isLive ? ' live' : ''}`}>
      <i />
      {value.replaceAll('_', ' ')}
    </span>
  )
}
