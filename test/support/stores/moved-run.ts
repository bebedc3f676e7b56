import type { Updateable } from 'kysely'
import type { Database } from '../../../src/storage/database.ts'
import type { Tables } from '../../../src/storage/tables.ts'
import { alterStore } from '../invariants/watch-invariants.ts'

/** The columns that only a receipt has. */
const OUTCOME =
  'response structured error input_tokens output_tokens tokens_used cost_nano steps rounds finished_at erased_at'.split(
    ' ',
  )

/** Makes a run that has ended active again: its receipt is removed, and it is a run with these fields. */
export async function reopenRun(db: Database, id: string, fields: Updateable<Tables['runs']>): Promise<void> {
  alterStore(db)
  await db.transaction().execute(async (held) => {
    const receipt = await held.selectFrom('invocations').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const { project_id } = await held
      .selectFrom('agents')
      .select('project_id')
      .where('seq', '=', receipt.agent_seq)
      .executeTakeFirstOrThrow()
    const asked = Object.fromEntries(Object.entries(receipt).filter(([name]) => !OUTCOME.includes(name)))
    await held
      .insertInto('runs')
      .values({ ...asked, project_id, owner: null, lease_until: null, cancel_requested_at: null, ...fields } as never)
      .execute()
    await held.deleteFrom('invocations').where('id', '=', id).execute()
  })
}

/** Makes a run fail, storing only its end. */
export async function failRun(db: Database, id: string): Promise<void> {
  alterStore(db)
  await db.transaction().execute(async (held) => {
    const run = await held.selectFrom('all_invocations').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    await held
      .insertInto('invocations')
      .values({ ...run, status: 'failed', finished_at: 1 })
      .execute()
    await held.deleteFrom('runs').where('id', '=', id).execute()
  })
}
