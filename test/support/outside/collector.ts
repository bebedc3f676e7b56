import type { IncomingHttpHeaders } from 'node:http'
import { readBody, startLocalServer } from './local-server.ts'

type Value = { stringValue?: string; intValue?: number; doubleValue?: number; boolValue?: boolean; arrayValue?: object }
export type ToldSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: { key: string; value: Value }[]
  status: { code?: number }
  events: { name: string; attributes: { key: string; value: Value }[] }[]
}

type Metric = { name: string; histogram: { dataPoints: { explicitBounds: number[]; sum: number }[] } }

/** A collector, which records what it receives as OTLP. */
export async function startCollector() {
  const bodies: { path: string; headers: IncomingHttpHeaders; body: string }[] = []
  const server = await startLocalServer(async (request, response) => {
    bodies.push({ path: request.url ?? '', headers: request.headers, body: await readBody(request) })
    response.setHeader('content-type', 'application/json').end('{}')
  })
  const parsed = (path: string) => bodies.filter((one) => one.path === path).map(({ body }) => JSON.parse(body))
  return {
    ...server,
    bodies,
    spans: (): ToldSpan[] =>
      parsed('/v1/traces').flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: ToldSpan[] }[] }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    metrics: (): Metric[] =>
      parsed('/v1/metrics').flatMap(({ resourceMetrics }) =>
        resourceMetrics.flatMap(({ scopeMetrics }: { scopeMetrics: { metrics: Metric[] }[] }) =>
          scopeMetrics.flatMap(({ metrics }) => metrics),
        ),
      ),
  }
}

export const boundsOf = ({ dataPoints: [first] }: Metric['histogram']) => first?.explicitBounds

export function attribute(span: Pick<ToldSpan, 'attributes'>, key: string): unknown {
  const value = span.attributes.find((one) => one.key === key)?.value
  return value && (value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue)
}
