import type { Context, Histogram, Span as OtelSpan, Tracer as OtelTracer } from '@opentelemetry/api'
import { requireInstalled } from '../lib/require-installed.ts'
import type { Attributes, Span, SpanKind, Tracer } from './tracing.ts'

export type OpenTelemetryOptions = {
  /** Of the collector; `/v1/traces` and `/v1/metrics` are added. */
  endpoint: string
  headers: Record<string, string>
  resource: Record<string, string>
  sampler: string
  samplerArg: number
  content: boolean
  /** Called when the collector can't be reached, at most once a minute. */
  onProblem(message: string): void
}

const PACKAGES = {
  '@opentelemetry/api': '1.10.0',
  '@opentelemetry/exporter-metrics-otlp-http': '0.301.0',
  '@opentelemetry/exporter-trace-otlp-http': '0.301.0',
  '@opentelemetry/resources': '3.1.0',
  '@opentelemetry/sdk-metrics': '3.1.0',
  '@opentelemetry/sdk-trace': '3.1.0',
}

/** With messages and answers, spans are large. Fewer of them are sent at the same time, and fewer wait. */
const LARGE_SPANS = { maxExportBatchSize: 32, maxQueueSize: 512 }

const PROBLEM_EVERY_MS = 60_000
/** How long the collector may take, retries included. A service that stops waits for it as long. */
const EXPORT_WITHIN_MS = 3_000

/** The buckets of the conventions for generative AI. */
const SECONDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)
const RUN_SECONDS = Array.from({ length: 13 }, (_, power) => 2 ** power / 10)
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power)

type Api = typeof import('@opentelemetry/api')

type Measures = Record<'chat' | 'firstChunk' | 'tokens' | 'run' | 'tool', Histogram>

type World = {
  api: Api
  tracer: OtelTracer
  measures: Measures
  content: boolean
}

/** Sends traces and metrics to a collector over OTLP. The packages are loaded here, when the operator has named one. */
export async function openTelemetryTracer(options: OpenTelemetryOptions): Promise<Tracer> {
  requireInstalled('otel.endpoint is set', PACKAGES)
  const [api, trace, metrics, traceExport, metricExport, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  let told = Number.NEGATIVE_INFINITY
  const report = (message: string) => {
    if (performance.now() - told < PROBLEM_EVERY_MS) return
    told = performance.now()
    options.onProblem(message)
  }
  const quiet = () => {}
  api.diag.setLogger({ error: report, warn: report, info: quiet, debug: quiet, verbose: quiet }, api.DiagLogLevel.WARN)
  const limits = { headers: options.headers, timeoutMillis: EXPORT_WITHIN_MS }
  const urlOf = (signal: string) => `${options.endpoint.replace(/\/$/, '')}/v1/${signal}`
  const resource = resourceFromAttributes(options.resource)
  const traces = new trace.TracerProvider({
    resource,
    sampler: samplerOf(trace, options),
    spanProcessors: [
      new trace.BatchSpanProcessor({
        exporter: new traceExport.OTLPTraceExporter({ url: urlOf('traces'), ...limits }),
        scheduledDelayMillis: 1_000,
        ...(options.content && LARGE_SPANS),
      }),
    ],
  })
  const meters = new metrics.MeterProvider({
    resource,
    readers: [
      new metrics.PeriodicExportingMetricReader({
        exporter: new metricExport.OTLPMetricExporter({ url: urlOf('metrics'), ...limits }),
        exportIntervalMillis: 15_000,
      }),
    ],
  })
  const meter = meters.getMeter('moorage')
  const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } })
  const world: World = {
    api,
    tracer: traces.getTracer('moorage'),
    measures: {
      chat: histogram('gen_ai.client.operation.duration', 's', SECONDS),
      firstChunk: histogram('gen_ai.client.operation.time_to_first_chunk', 's', SECONDS),
      tokens: histogram('gen_ai.client.token.usage', '{token}', TOKENS),
      run: histogram('gen_ai.invoke_agent.duration', 's', RUN_SECONDS),
      tool: histogram('gen_ai.execute_tool.duration', 's', SECONDS),
    },
    content: options.content,
  }
  return {
    begin: (name, kind, attributes, traceparent) =>
      beginSpan(world, name, kind, attributes, contextOf(api, traceparent)),
    async close() {
      // A collector that is gone must not keep the service from stopping: it has as long as for every export.
      await Promise.allSettled([traces.shutdown(), meters.shutdown()])
    },
  }
}

function samplerOf(trace: typeof import('@opentelemetry/sdk-trace'), { sampler, samplerArg }: OpenTelemetryOptions) {
  const root = sampler.endsWith('always_off')
    ? new trace.AlwaysOffSampler()
    : sampler.endsWith('traceidratio')
      ? new trace.TraceIdRatioBasedSampler(samplerArg)
      : new trace.AlwaysOnSampler()
  return sampler.startsWith('parentbased_') ? new trace.ParentBasedSampler({ root }) : root
}

const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/

function contextOf({ trace, ROOT_CONTEXT }: Api, traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? []
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
  return trace.isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
}

/** `above` is what measurements of a span say of the one above it. */
function beginSpan(
  world: World,
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  context: Context,
  above: Attributes = {},
): Span {
  const { api, tracer, content } = world
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL }
  const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, context)
  const { traceId, spanId, traceFlags } = span.spanContext()
  const started = performance.now()
  const known = { ...above, ...attributes }
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    showsContent: content && span.isRecording(),
    child: (childName, childKind, childAttributes) => {
      const inside = api.trace.setSpan(context, span)
      return beginSpan(world, childName, childKind, childAttributes, inside, picked(known, ['gen_ai.agent.name']))
    },
    set(more) {
      Object.assign(known, more)
      span.setAttributes(more)
    },
    event(eventName, eventAttributes) {
      span.addEvent(eventName, eventAttributes)
    },
    end(error) {
      if (error !== undefined) fail(world, span, error)
      measure(world.measures, known, (performance.now() - started) / 1000, error)
      span.end()
    },
  }
}

/** Success leaves the status unset, as the conventions ask. */
function fail({ api }: World, span: OtelSpan, error: string): void {
  span.setAttribute('error.type', error)
  span.setStatus({ code: api.SpanStatusCode.ERROR })
}

/** The labels that distinguish measurements. */
const OF_CHATS = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'server.address',
  'server.port',
]
const OF_RUNS = ['gen_ai.agent.name']
const OF_TOOLS = ['gen_ai.tool.name', 'gen_ai.tool.type', 'gen_ai.agent.name']

function measure(measures: Measures, known: Attributes, seconds: number, error: string | undefined): void {
  const failed = error === undefined ? {} : { 'error.type': error }
  switch (known['gen_ai.operation.name']) {
    case 'invoke_agent':
      measures.run.record(seconds, { ...picked(known, OF_RUNS), ...failed })
      break
    case 'execute_tool':
      measures.tool.record(seconds, { ...picked(known, OF_TOOLS), ...failed })
      break
    case 'chat':
      measureChat(measures, known, seconds, failed)
  }
}

function measureChat({ chat, firstChunk, tokens }: Measures, known: Attributes, seconds: number, failed: Attributes) {
  const labels = picked(known, OF_CHATS)
  chat.record(seconds, { ...labels, ...failed })
  const first = known['gen_ai.response.time_to_first_chunk']
  if (typeof first === 'number') firstChunk.record(first, labels)
  for (const type of ['input', 'output']) {
    const used = known[`gen_ai.usage.${type}_tokens`]
    if (typeof used === 'number') tokens.record(used, { ...labels, 'gen_ai.token.type': type })
  }
}

function picked(known: Attributes, names: readonly string[]): Attributes {
  return Object.fromEntries(names.flatMap((name) => (known[name] === undefined ? [] : [[name, known[name]]])))
}
