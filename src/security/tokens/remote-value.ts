export type RemoteValue<T> = {
  /** Returns the value, after loading or renewing it if necessary. Undefined if there is no usable value. */
  get(): Promise<T | undefined>
  /** Asks again before the value is due, but not within 30 s of the last attempt. */
  renew(): Promise<T | undefined>
  /** Why the last attempt failed, or undefined. */
  failure(): string | undefined
}

const FRESH_MS = 10 * 60_000
const USABLE_MS = 24 * 3_600_000
const PAUSE_MS = 30_000
const EMPTY_HANDED_PAUSE_MS = 5_000

/**
 * A copy of something that another host publishes. While that host is down, the old value is used for up to a day and
 * renewed in the background, so no caller waits for a dead host.
 */
export function remoteValue<T>({ load, now }: { load: () => Promise<T>; now: () => number }): RemoteValue<T> {
  let held: { value: T; loaded_at: number } | undefined
  let tried_at = Number.NEGATIVE_INFINITY
  let failure: string | undefined
  let loading: Promise<void> | undefined

  function attempt(): Promise<void> {
    loading ??= run().finally(() => {
      loading = undefined
    })
    return loading
  }

  async function run(): Promise<void> {
    tried_at = now()
    try {
      held = { value: await load(), loaded_at: now() }
      failure = undefined
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error)
    }
  }

  // If the clock was set back, renewals must not stop until it has caught up.
  const since = (time: number) => Math.abs(now() - time)
  const usable = () => (held && since(held.loaded_at) < USABLE_MS ? held.value : undefined)

  return {
    async get() {
      if (held && since(held.loaded_at) < FRESH_MS) return held.value
      const pause = usable() === undefined ? EMPTY_HANDED_PAUSE_MS : PAUSE_MS
      if (!loading && failure !== undefined && since(tried_at) < pause) return usable()
      const attempted = attempt()
      if (usable() === undefined || failure === undefined) await attempted
      return usable()
    },

    async renew() {
      if (loading || since(tried_at) >= PAUSE_MS) await attempt()
      return usable()
    },

    failure: () => failure,
  }
}
