import { MAX_EARLIER } from '../../operation/earlier-texts.ts'
import type { Database } from '../../storage/database.ts'
import { textBytes } from '../../storage/queries/text-bytes.ts'
import type { Invocation } from '../invocation.ts'
import { fromRow } from '../rows/invocation-rows.ts'

const MOST_IDS = 2_000

/** The size in bytes of what an invocation adds to a conversation. */
const SIZE = textBytes('all_invocations', ['message', 'response', 'given', 'rounds'])

/** What is needed to decide whether a client can continue an invocation. */
export type NamedInvocation = Pick<Invocation, 'id' | 'status' | 'created_by' | 'erased_at'> & {
  user_id: string | undefined
  /** Whether it ended with tool calls for the caller. */
  handed: boolean
  bytes: number
}

/** Which of the IDs are invocations of the agent, latest first. Texts aren't read. */
export async function listNamed(db: Database, agent_seq: number, ids: readonly string[]): Promise<NamedInvocation[]> {
  const latest = ids.toSorted().toReversed().slice(0, MOST_IDS)
  if (latest.length === 0) return []
  const rows = await db
    .selectFrom('all_invocations')
    .select([
      'id',
      'status',
      'created_by',
      'erased_at',
      'user_id',
      textBytes('all_invocations', ['rounds']).as('rounds'),
      SIZE.as('bytes'),
    ])
    .where('agent_seq', '=', agent_seq)
    .where('id', 'in', latest)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(({ status, user_id, rounds, ...row }) => ({
    ...row,
    status: status as Invocation['status'],
    user_id: user_id ?? undefined,
    handed: rounds > 0,
  }))
}

/** The earlier invocations of a conversation, as many as one run may load. */
export class EarlierInvocations {
  readonly found = new Map<string, Invocation>()
  bytes = 0
  readonly #db: Database
  readonly #agent_seq: number

  constructor(db: Database, agent_seq: number) {
    this.#db = db
    this.#agent_seq = agent_seq
  }

  /** Reads these invocations, latest first, until the run has reached its limit. */
  async read(ids: Iterable<string>): Promise<void> {
    const missing = [...ids].filter((id) => !this.found.has(id))
    const [only, ...others] = missing
    const latest =
      only && others.length > 0 ? await listNamed(this.#db, this.#agent_seq, missing) : [{ id: only ?? '' }]
    // They are read one at a time because they may be large, and other requests need the event loop in between.
    for (const { id } of latest) await this.find(id)
  }

  /**
   * Returns an invocation, reading it if necessary. Undefined if it was deleted, or if the run has reached its limit.
   */
  async find(id: string | undefined): Promise<Invocation | undefined> {
    const known = this.found.get(id ?? '')
    if (known || !id || this.bytes >= MAX_EARLIER) return known
    const row = await this.#db
      .selectFrom('all_invocations')
      .selectAll()
      .select(SIZE.as('bytes'))
      .where('id', '=', id)
      .where('agent_seq', '=', this.#agent_seq)
      .executeTakeFirst()
    if (!row) return undefined
    const { bytes, ...stored } = row
    const invocation = fromRow(stored)
    this.bytes += bytes
    this.found.set(id, invocation)
    return invocation
  }
}
