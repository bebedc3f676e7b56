import type { z } from 'zod'
import * as incoming from '../incoming/store.ts'
import type { Parts } from '../operation/parts.ts'
import type { Database } from '../storage/database.ts'
import { presentTrigger, purposeOf, type Trigger, type TriggerReply } from './trigger.ts'

/** Triggers as clients see them, with their URLs. */
export async function presentAll(
  db: Database,
  all: readonly Trigger[],
  { config, keyring }: Pick<Parts, 'config' | 'keyring'>,
): Promise<z.input<typeof TriggerReply>[]> {
  const times = await incoming.lastTimes(
    db,
    all.map(({ id }) => id),
  )
  const { publicUrl } = config.server
  return all.map((trigger) => {
    const token = keyring.decrypt(trigger.token, purposeOf(trigger))
    return presentTrigger(trigger, { token, publicUrl, last_delivery_at: times.get(trigger.id) ?? null })
  })
}

export async function present(
  db: Database,
  trigger: Trigger,
  parts: Pick<Parts, 'config' | 'keyring'>,
): Promise<z.input<typeof TriggerReply>> {
  const [presented] = await presentAll(db, [trigger], parts)
  return presented as z.input<typeof TriggerReply>
}
