/** Smaller differences are caused by the network and do no harm. */
const TOLERATED_MS = 250

/** The query for the database's time, in milliseconds since the epoch. */
const TIME_QUERY = 'select 1 as ping, extract(epoch from clock_timestamp())::float8 * 1000 as time'

/**
 * By how much this node's clock differs from the database's. Leases, and everything else for which nodes compare times,
 * use the database's clock. So a node with a wrong clock neither takes over other nodes' leases nor loses its own.
 */
export class DatabaseClock {
  readonly #now: () => number
  #skew = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Add this to this node's clock. */
  get skew(): number {
    return this.#skew
  }

  /** Asks for the time, and assumes that the database answered halfway between the question and the reply. */
  async ask(query: (text: string) => Promise<{ rows: { time: number }[] }>): Promise<void> {
    const asked = this.#now()
    const { rows } = await query(TIME_QUERY)
    const answered = this.#now()
    const time = rows[0]?.time
    // The node's own clock was changed in the meantime. The next reply will be right.
    if (time === undefined || answered < asked) return
    const skew = Math.round(time - (asked + answered) / 2)
    if (Math.abs(skew - this.#skew) > TOLERATED_MS + answered - asked) this.#skew = skew
  }
}
