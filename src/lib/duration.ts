const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** At most eight digits, so every match is a safe number of milliseconds. */
export const DURATION_PATTERN = /^(0|[1-9]\d{0,7})(ms|s|m|h|d)$/

/** Parses `250ms`, `15s`, `5m`, `1h` or `30d`: one whole number and one unit, nothing else. */
export function parseDuration(text: string): number {
  const [, count, unit] = DURATION_PATTERN.exec(text) ?? []
  if (count === undefined)
    throw new RangeError('a duration is a whole number and a unit (ms, s, m, h or d), such as 15s')
  return Number(count) * MILLISECONDS[unit as keyof typeof MILLISECONDS]
}
