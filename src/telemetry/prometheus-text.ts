import type { MetricReading, Sample } from './telemetry.ts'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The text format of Prometheus, version 0.0.4. */
export function prometheusText(readings: readonly MetricReading[]): string {
  return readings.map(textOf).join('')
}

function textOf({ name, help, type, samples }: MetricReading): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples.map(lineOf), ''].join('\n')
}

function lineOf({ name, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
