import type { Span } from '../telemetry/tracing.ts'
import { splitModelName } from './models/model-name.ts'
import type { RunInProgress } from './run-in-progress.ts'

/** Names by the conventions of OpenTelemetry for generative AI. */
export function beginChat({ span, input: { agent } }: RunInProgress, model: string): Span | undefined {
  if (!span) return undefined
  const { provider, id } = splitModelName(model)
  return span.child(`chat ${id}`, 'client', {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': id,
    ...(agent.temperature !== null && { 'gen_ai.request.temperature': agent.temperature }),
    ...(agent.limits.max_output_tokens !== null && { 'gen_ai.request.max_tokens': agent.limits.max_output_tokens }),
  })
}

export function beginToolCall({ span }: RunInProgress, call: { id: string; name: string }): Span | undefined {
  return span?.child(`execute_tool ${call.name}`, 'internal', {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.name,
    'gen_ai.tool.call.id': call.id,
    'gen_ai.tool.type': 'function',
  })
}

/** The type of a failure, for a span: a name, never a message. */
export function failureType(error: unknown): string {
  return error instanceof Error ? error.name : 'Error'
}
