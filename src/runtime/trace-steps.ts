import { cutText } from '../telemetry/traced-messages.ts'
import type { Attributes, Span } from '../telemetry/tracing.ts'
import { splitModelName } from './models/model.ts'
import type { CallTrace, Model } from './models/model-request.ts'
import type { TokenCount } from './models/usage.ts'
import type { ToolResult } from './outcome.ts'
import type { RunInProgress } from './run-in-progress.ts'
import type { ModelInput } from './run-input.ts'
import type { ToolArguments } from './tools/arguments.ts'

/** Begins the span of a model call, with names from OpenTelemetry's conventions for generative AI. */
export function beginChat(
  span: Span,
  { agent }: ModelInput,
  { name, server }: Pick<Model, 'server'> & { name: string },
): Span {
  const { provider, id } = splitModelName(name)
  return span.child(`chat ${id}`, 'client', {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': id,
    ...(agent.temperature !== null && { 'gen_ai.request.temperature': agent.temperature }),
    ...(agent.limits.max_output_tokens !== null && { 'gen_ai.request.max_tokens': agent.limits.max_output_tokens }),
    // Every provider is asked for a stream.
    ...(server && { 'gen_ai.request.stream': true, 'server.address': server.address, 'server.port': server.port }),
  })
}

/** Connects a model call to its trace: a header for the provider, and attributes from its reply. */
export function callTrace(span: Span): CallTrace {
  const asked = performance.now()
  return {
    headers: { traceparent: span.traceparent },
    began: () => span.set({ 'gen_ai.response.time_to_first_chunk': (performance.now() - asked) / 1000 }),
    named: (id) => span.set({ 'gen_ai.response.id': id }),
  }
}

export function usageAttributes({
  input_tokens,
  output_tokens,
  cached_tokens,
  cache_write_tokens,
  reasoning_tokens,
}: TokenCount): Attributes {
  return {
    'gen_ai.usage.input_tokens': input_tokens,
    'gen_ai.usage.output_tokens': output_tokens,
    ...(cached_tokens !== undefined && { 'gen_ai.usage.cache_read.input_tokens': cached_tokens }),
    ...(cache_write_tokens !== undefined && { 'gen_ai.usage.cache_creation.input_tokens': cache_write_tokens }),
    ...(reasoning_tokens !== undefined && { 'gen_ai.usage.reasoning.output_tokens': reasoning_tokens }),
  }
}

export function beginToolCall(
  { span, toolbox }: RunInProgress,
  { id, name, args }: { id: string; name: string; args: ToolArguments },
): Span | undefined {
  if (!span) return undefined
  const description = toolbox.definitions.find((tool) => tool.name === name)?.description
  return span.child(`execute_tool ${name}`, 'internal', {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': id,
    'gen_ai.tool.type': 'function',
    ...(description && { 'gen_ai.tool.description': cutText(description) }),
    ...(span.showsContent && 'value' in args && { 'gen_ai.tool.call.arguments': cutText(JSON.stringify(args.value)) }),
  })
}

export function endToolCall(span: Span, outcome: ToolResult): void {
  if ('error' in outcome) return span.end('ToolError')
  if (span.showsContent) span.set({ 'gen_ai.tool.call.result': cutText(outcome.result) })
  span.end()
}

/** The type of a failure, for a span: a name, never a message. */
export function failureType(error: unknown): string {
  return error instanceof Error ? error.name : 'Error'
}
