import { hasModel } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import { firstName, splitModelName } from '../../runtime/models/model-name.ts'
import type { RunOutcome } from '../../runtime/run-outcome.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { Started } from './stored-run.ts'

/** The run in the trace of its request, or of the run that called it; one in the background has a trace of its own. */
export function beginRunSpan(
  { invocation, agent, definition, span }: Started,
  { tracer }: Pick<Parts, 'tracer'>,
): Span | undefined {
  if (!tracer) return undefined
  const name = `invoke_agent ${agent.name}`
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    ...(hasModel(definition) && modelAttributes(firstName(definition.model))),
    'gen_ai.agent.id': agent.id,
    'gen_ai.agent.name': agent.name,
    ...(invocation.context.session_id !== undefined && { 'gen_ai.conversation.id': invocation.context.session_id }),
    'moorage.request_id': invocation.id,
    'moorage.environment': invocation.environment,
    ...(invocation.version !== null && { 'moorage.version': invocation.version }),
  }
  return span
    ? span.child(name, 'internal', attributes)
    : tracer.begin(name, 'internal', attributes, invocation.tree?.traceparent)
}

function modelAttributes(model: string) {
  const { provider, id } = splitModelName(model)
  return { 'gen_ai.provider.name': provider, 'gen_ai.request.model': id }
}

/** `error` is the code of the receipt's error. */
export function endRunSpan(span: Span, message: string, outcome: RunOutcome, error: string | undefined): void {
  span.set({
    'gen_ai.usage.input_tokens': outcome.usage.input_tokens,
    'gen_ai.usage.output_tokens': outcome.usage.output_tokens,
    ...(span.showsContent && {
      'gen_ai.input.messages': said('user', message),
      'gen_ai.output.messages': said('assistant', outcome.response),
    }),
  })
  span.end(error)
}

function said(role: string, content: string): string {
  return JSON.stringify([{ role, parts: [{ type: 'text', content }] }])
}
