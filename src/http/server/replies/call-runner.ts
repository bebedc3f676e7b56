import type { ServerResponse } from 'node:http'
import { PLAIN_REPLY } from '../../../operation/reply-channel.ts'
import type { CallRunner } from '../../dialects/dialect.ts'
import type { Admitted } from '../../pipeline/stages.ts'
import type { Front } from '../front.ts'
import { hangUpOf } from './hang-up.ts'

/** Takes each call of a request through the same steps as a request of its own. */
export function callRunner({ steps }: Front, admitted: Admitted, response: ServerResponse): CallRunner {
  let isFirst = true
  return {
    async run(call, channel = {}) {
      // The request itself was counted, and that pays for its first call.
      const paid = isFirst
      isFirst = false
      if (!paid) await steps.count(admitted)
      const { mode, last_event_id } = call
      return steps.run(await steps.authoriseNamed(admitted, call), call, {
        ...PLAIN_REPLY,
        ...channel,
        mode,
        last_event_id,
      })
    },
    onHangUp: hangUpOf(response),
  }
}
