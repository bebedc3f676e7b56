/** Smaller differences come from the way to the database and back, and do no harm. */
const TOLERATED_MS = 250

/** What the database is asked for its time, in milliseconds since the epoch. */
const TIME_QUERY = 'select 1 as ping, extract(epoch from clock_timestamp())::float8 * 1000 as time'

/**
 * How far the clock of this node is from the database's. Leases, and whatever else nodes agree on by time, go by the
 * database's clock, so that a node whose own clock is wrong neither takes over what others hold nor loses what it
 * holds.
 */
export class DatabaseClock {
  readonly #now: () => number
  #skew = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** What to add to this node's clock. */
  get skew(): number {
    return this.#skew
  }

  /** Asks for the time, and takes the answer as of the middle between question and answer. */
  async ask(query: (text: string) => Promise<{ rows: { time: number }[] }>): Promise<void> {
    const asked = this.#now()
    const { rows } = await query(TIME_QUERY)
    const answered = this.#now()
    const time = rows[0]?.time
    // The node's own clock was moved meanwhile: the next answer will tell.
    if (time === undefined || answered < asked) return
    const skew = Math.round(time - (asked + answered) / 2)
    if (Math.abs(skew - this.#skew) > TOLERATED_MS + answered - asked) this.#skew = skew
  }
}
