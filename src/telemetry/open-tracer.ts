import type { Logger } from '../lib/log.ts'
import { openTelemetryTracer } from './open-telemetry.ts'
import type { Tracer } from './tracing.ts'

/** The settings as the operator gives them; headers and attributes as `name=value` pairs. */
export type TracerSettings = {
  endpoint?: string | undefined
  headers?: string | undefined
  serviceName: string
  resourceAttributes?: string | undefined
  sampler: string
  samplerArg: number
  content: boolean
  disabled: boolean
}

/** If the operator has named a collector, it gets requests and runs. */
export async function openTracer(settings: TracerSettings, log: Logger): Promise<Tracer | undefined> {
  const { endpoint, headers, serviceName, resourceAttributes, disabled, ...rest } = settings
  if (endpoint === undefined || disabled) return undefined
  const resource = { ...pairsOf(resourceAttributes), 'service.name': serviceName }
  const onProblem = (problem: string) => {
    log.warn({ endpoint, problem: problem.slice(0, 500) }, 'some telemetry did not reach the OpenTelemetry collector')
  }
  return openTelemetryTracer({ ...rest, endpoint, headers: pairsOf(headers), resource, onProblem })
}

/** Values may be percent-encoded. */
function pairsOf(text = ''): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.includes('='))
  return Object.fromEntries(
    pairs.map((pair) =>
      pair
        .split(/=(.*)/s)
        .slice(0, 2)
        .map((part) => decoded(part.trim())),
    ),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
