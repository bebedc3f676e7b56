const MAX_RESOURCES = 80

const kept = new Map<string, unknown>()

/** The data that was last loaded, so that going back shows it immediately. */
export function recall(key: string): unknown {
  return kept.get(key)
}

export function keep(key: string, data: unknown): void {
  kept.delete(key)
  kept.set(key, data)
  for (const oldest of kept.keys()) {
    if (kept.size <= MAX_RESOURCES) return
    kept.delete(oldest)
  }
}

/** Drops all data after a sign-out, because the next reader may see less. */
export function forgetAll(): void {
  kept.clear()
}
