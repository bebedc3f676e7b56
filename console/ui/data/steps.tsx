import type { Invocation, InvocationStep } from '../../../sdk/client.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import { Snippet } from '../copy.tsx'

/** What a run has done, as bars over the time that it took. */
export function Steps({ run }: { run: Invocation }) {
  const from = Date.parse(run.started_at ?? run.created_at)
  const to = run.finished_at ? Date.parse(run.finished_at) : latestOf(run)
  const whole = Math.max(to - from, 1)
  if (run.steps.length === 0) return <p class="soft">No step was recorded.</p>
  return (
    <ol class="steps">
      {run.steps.map((step, i) => (
        <li key={i}>
          <Step step={step} from={from} whole={whole} />
        </li>
      ))}
    </ol>
  )
}

function latestOf({ steps, created_at }: Invocation): number {
  return Math.max(...steps.map(({ finished_at }) => Date.parse(finished_at ?? created_at)))
}

function Step({ step, from, whole }: { step: InvocationStep; from: number; whole: number }) {
  const started = step.started_at ? Date.parse(step.started_at) - from : 0
  const left = Math.min(Math.max((100 * started) / whole, 0), 99)
  const width = Math.min(Math.max((100 * step.duration_ms) / whole, 1), 100 - left)
  const details = detailsOf(step)
  const line = (
    <>
      <span class="name">{nameOf(step)}</span>
      <span class="bar" aria-hidden="true">
        <i
          class={`${step.kind}${'error' in step && step.error ? ' bad' : ''}`}
          style={{ left: `${left}%`, width: `${width}%` }}
        />
      </span>
      <span class="number">{durationText(step.duration_ms)}</span>
      <span class="number soft">{step.kind === 'model' ? `${countText(step.usage.total_tokens)} tokens` : ''}</span>
    </>
  )
  if (details.length === 0) return <div class="line">{line}</div>
  return (
    <details>
      <summary class="line">{line}</summary>
      {details.map(([label, text]) => (
        <div key={label} class="detail">
          <h4>{label}</h4>
          <Snippet label={label} text={text} />
        </div>
      ))}
    </details>
  )
}

function nameOf(step: InvocationStep): string {
  if (step.kind === 'tool') return step.name
  return step.kind === 'wait' ? `wait: ${step.reason}` : step.kind
}

function detailsOf(step: InvocationStep): [label: string, text: string][] {
  if (step.kind !== 'tool') return []
  return [
    ['Arguments', JSON.stringify(step.arguments, null, 2)],
    ...(step.result === undefined ? [] : [['Result', step.result] as [string, string]]),
    ...(step.error === undefined ? [] : [['Error', step.error] as [string, string]]),
  ]
}
