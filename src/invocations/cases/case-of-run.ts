import type { Agent } from '../../agents/agent.ts'
import type { RecordedCall } from '../../runtime/tools/recorded-tools.ts'
import type { Invocation } from '../invocation.ts'
import { givenTo, type RebuildNeeds, rememberedBy } from '../prompt/rebuild-prompt.ts'
import type { ReceiptStep } from '../steps/receipt-steps.ts'
import type { RecordedAnswer, RunCase } from './run-case.ts'

/** Whether an invocation can be sent again: it has answered or failed, and its content is still there. */
export function isRepeatable({ status, erased_at }: Pick<Invocation, 'status' | 'erased_at'>): boolean {
  return (status === 'completed' || status === 'failed') && erased_at === null
}

/**
 * Copies an ended invocation, with what its model saw. It doesn't search memory again: it reads the memories that were
 * recalled for the invocation, if they still exist.
 */
export async function caseOfRun(
  agent: Agent,
  invocation: Invocation,
  parts: Pick<RebuildNeeds, 'db' | 'earlier'>,
): Promise<RunCase> {
  const { id: request_id, message, context, attachments, steps } = invocation
  const asked = { agent, invocation, steps, step: steps.length, definition: undefined }
  const found = await rememberedBy(asked, parts.db, [])
  const { history, previous: _previous, ...given } = (await givenTo(asked, parts)) ?? {}
  return {
    name: null,
    request_id,
    content: {
      message,
      context,
      attachments: (attachments ?? []).map(({ file_id, name, media_type, size }) => ({
        file_id,
        name,
        media_type,
        size,
      })),
      history: history ?? found.history,
      recalled: found.recalled.map(({ content, role, created_at }) => ({ content, role, created_at })),
      summary: found.summary ?? null,
      given: Object.keys(given).length > 0 ? given : null,
      checks: [],
      recorded: recordedAnswer(invocation),
    },
  }
}

function recordedAnswer(invocation: Invocation): RecordedAnswer {
  const { version, environment, door, status, response, error, input_tokens, output_tokens, steps } = invocation
  const { cost_nano, duration_ms } = invocation
  return {
    version,
    environment,
    door,
    status: status === 'completed' ? 'completed' : 'failed',
    response,
    error: error?.message ?? null,
    calls: steps.flatMap(callOf),
    input_tokens,
    output_tokens,
    cost_nano,
    duration_ms: duration_ms ?? 0,
  }
}

function callOf(step: ReceiptStep): RecordedCall[] {
  if (step.kind !== 'tool') return []
  const { name, arguments: given } = step
  if ('error' in step) return [{ name, arguments: given, error: step.error }]
  const { result, files } = step
  return [{ name, arguments: given, result, ...(files && { files }) }]
}
