import type { ServerResponse } from 'node:http'
import { PLAIN_REPLY } from '../../../operation/reply-channel.ts'
import type { CallRunner } from '../../dialects/dialect.ts'
import { isFromForeignPage } from '../../pipeline/guards/cors.ts'
import { reportRefusal } from '../../pipeline/report-refusal.ts'
import type { Authorised } from '../../pipeline/request.ts'
import { toApiError } from '../../pipeline/to-api-error.ts'
import type { Front } from '../front.ts'
import { publicUrl } from '../protected-resource.ts'
import { hangUpOf } from './hang-up.ts'

/** Takes each call of a request through the same steps as a request of its own. */
export function callRunner(
  { edge: { parts }, steps, agentChanges, replies }: Front,
  authorised: Authorised,
  response: ServerResponse,
): CallRunner {
  const { arrived, actor, agent } = authorised
  let isFirst = true
  return {
    async run(call, channel = {}) {
      // The request itself was counted, and that pays for its first call.
      const paid = isFirst
      isFirst = false
      if (!paid) await steps.count(authorised)
      const { mode, last_event_id } = call
      return steps.run(await steps.authoriseNamed(authorised, call), call, {
        ...PLAIN_REPLY,
        ...channel,
        mode,
        last_event_id,
        reserve: (bytes) => replies.reserve(response, authorised, bytes),
      })
    },
    fail(error, operation) {
      const apiError = toApiError(error, parts.log, arrived.request_id)
      reportRefusal(parts.audit, arrived, apiError, operation)
      return apiError
    },
    actor,
    agent,
    url: publicUrl(arrived, parts.config.server),
    isFromForeignPage: isFromForeignPage(arrived),
    onHangUp: hangUpOf(response),
    onAgentChange: (listener) => agentChanges.follow(actor.scope, listener),
    stopping: parts.stopping,
  }
}
