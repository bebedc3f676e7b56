import { PLAIN_REPLY, type ReplyChannel } from '../../../operation/reply-channel.ts'
import type { CallRunner } from '../../dialects/dialect.ts'
import { authoriseNamed } from '../../pipeline/guards/authorise.ts'
import { isFromForeignPage } from '../../pipeline/guards/cors.ts'
import { countRequest } from '../../pipeline/pipeline.ts'
import { reportRefusal } from '../../pipeline/report-refusal.ts'
import type { AuthorizedCall } from '../../pipeline/request.ts'
import { runAuthorised } from '../../pipeline/run-authorised.ts'
import { toApiError } from '../../pipeline/to-api-error.ts'
import type { Front } from '../front.ts'
import { publicUrl } from '../protected-resource.ts'

/** Takes each call of a request through the same steps as a separate request. */
export function callRunner(
  { edge, agentChanges }: Front,
  authorised: AuthorizedCall,
  { onHangUp = () => {}, reserve }: ReplyChannel,
): CallRunner {
  const { parts } = edge
  const { arrived, actor, agent } = authorised
  let isFirst = true
  return {
    async run(call, channel = {}) {
      // The first call is covered by the request itself, which was already counted.
      const paid = isFirst
      isFirst = false
      if (!paid) await countRequest(edge, authorised)
      const { mode, last_event_id } = call
      return runAuthorised(edge, await authoriseNamed(edge, authorised, call), call, {
        ...PLAIN_REPLY,
        ...channel,
        mode,
        last_event_id,
        reserve,
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
    onHangUp,
    onAgentChange: (listener) => agentChanges.follow(actor.scope, listener),
    stopping: parts.stopping,
  }
}
