import type { Parts } from '../../operation/parts.ts'
import { sha256 } from '../../security/digest.ts'
import type { IgnoredMessage } from '../channels/channel.ts'
import type { ReadEvent } from '../receive/read-event.ts'
import type { Trigger } from '../trigger.ts'

/** How many messages of one sender, and of one thread, are answered: programs that answer each other never stop. */
const MAILS = { perMinute: 1, burst: 20 }

type CountedMail = Pick<ReadEvent, 'sender' | 'session_id'>

/** Where a message is counted: for its sender, and for its thread. The limiter's store never contains an address. */
function bucketsOf({ id }: Trigger, { sender, session_id }: CountedMail): string[] {
  return sender === undefined ? [] : [`mail from:${id}:${sha256(sender)}`, `mail in:${id}:${session_id}`]
}

/** Why a message isn't answered although it is wanted. A repeated one counts again, which does no harm. */
export async function countMail(
  trigger: Trigger,
  mail: CountedMail,
  { limiter }: Pick<Parts, 'limiter'>,
): Promise<IgnoredMessage['ignored'] | undefined> {
  for (const bucket of bucketsOf(trigger, mail)) {
    const { allowed } = await limiter.take(bucket, MAILS)
    if (!allowed) return { code: 'too_many', reason: 'Too many messages of this sender or in this thread.' }
  }
  return undefined
}

/** A message with which no run could start doesn't count: its sender's provider sends it again, perhaps many times. */
export async function uncountMail(
  trigger: Trigger,
  mail: CountedMail,
  { limiter }: Pick<Parts, 'limiter'>,
): Promise<void> {
  for (const bucket of bucketsOf(trigger, mail)) await limiter.giveBack(bucket, MAILS)
}
