import { hasModel } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import { firstName, splitModelName } from '../../runtime/models/model.ts'
import type { RunOutcome } from '../../runtime/run-outcome.ts'
import { usageAttributes } from '../../runtime/trace-steps.ts'
import { messagesJson } from '../../telemetry/traced-messages.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { StartedRun } from './stored-run.ts'

/**
 * Begins the run's span, in the trace of its request or of the run that called it. A background run gets its own trace.
 */
export function beginRunSpan(
  { invocation, agent, definition, span }: StartedRun,
  tracer: NonNullable<Parts['tracer']>,
): Span {
  const { user_id, session_id } = invocation.context
  const name = `invoke_agent ${agent.name}`
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    ...(hasModel(definition) && modelAttributes(firstName(definition.model))),
    'gen_ai.agent.id': agent.id,
    'gen_ai.agent.name': agent.name,
    ...(invocation.version !== null && { 'gen_ai.agent.version': invocation.version }),
    ...(definition.description && { 'gen_ai.agent.description': definition.description }),
    // Some tracing tools group by the first attribute, others by the second.
    ...(session_id !== undefined && { 'gen_ai.conversation.id': session_id, 'session.id': session_id }),
    'moorage.request_id': invocation.id,
    'moorage.environment': invocation.environment,
  }
  const begun = span
    ? span.child(name, 'internal', attributes)
    : tracer.begin(name, 'internal', attributes, invocation.tree?.traceparent)
  if (begun.showsContent && user_id !== undefined) begun.set({ 'user.id': user_id })
  return begun
}

function modelAttributes(model: string) {
  const { provider, id } = splitModelName(model)
  return { 'gen_ai.provider.name': provider, 'gen_ai.request.model': id }
}

/** `error` is the error code in the receipt. */
export function endRunSpan(span: Span, message: string, outcome: RunOutcome, error: string | undefined): void {
  span.set({
    ...usageAttributes(outcome.usage),
    ...(span.showsContent && {
      'gen_ai.input.messages': messagesJson([{ role: 'user', parts: [{ type: 'text', text: message }] }]),
      'gen_ai.output.messages': messagesJson([
        {
          role: 'assistant',
          parts: [{ type: 'text', text: outcome.response }],
          finish_reason: error === undefined ? 'stop' : 'error',
        },
      ]),
    }),
  })
  span.end(error)
}
