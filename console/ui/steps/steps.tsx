import { useState } from 'preact/hooks'
import { attemptsBetween, attemptText } from '../../../sdk/attempts.ts'
import type { Invocation, InvocationStep } from '../../../sdk/client.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import { Cost } from '../data/cost.tsx'
import { StepDetail } from './step-detail.tsx'

/** A run's steps as bars over time. Each opens to show its input and output. */
export function Steps({ run }: { run: Invocation }) {
  const from = Date.parse(run.started_at ?? run.created_at)
  const to = run.finished_at ? Date.parse(run.finished_at) : latestOf(run)
  const whole = Math.max(to - from, 1)
  return (
    <>
      {run.steps.length === 0 && (
        <p class="soft">{run.error ? 'The run failed before its first step.' : 'No steps recorded.'}</p>
      )}
      <ol class="steps">
        {run.steps.map((step, i) => (
          <li key={i}>
            <Attempts run={run} before={run.steps[i - 1]} next={step} />
            <Step run={run} position={i} step={step} from={from} whole={whole} />
          </li>
        ))}
      </ol>
      <Attempts run={run} before={run.steps.at(-1)} next={undefined} />
    </>
  )
}

type StepGap = { run: Invocation; before: InvocationStep | undefined; next: InvocationStep | undefined }

/** Why the attempts between two steps began. */
function Attempts({ run, before, next }: StepGap) {
  const texts = attemptsBetween(run, before, next).flatMap((attempt) => attemptText(run, attempt) ?? [])
  return texts.map((text, i) => (
    <p key={i} class="attempt">
      {text}
    </p>
  ))
}

function latestOf({ steps, created_at }: Invocation): number {
  return Math.max(...steps.map(({ finished_at }) => Date.parse(finished_at ?? created_at)))
}

type StepProps = { run: Invocation; position: number; step: InvocationStep; from: number; whole: number }

function Step({ run, position, step, from, whole }: StepProps) {
  const [isOpen, setOpen] = useState(false)
  const started = step.started_at ? Date.parse(step.started_at) - from : 0
  const left = Math.min(Math.max((100 * started) / whole, 0), 99)
  const width = Math.min(Math.max((100 * step.duration_ms) / whole, 1), 100 - left)
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
      <span class="number soft">
        <Spent step={step} />
      </span>
    </>
  )
  if (step.kind === 'wait') return <div class="line">{line}</div>
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="line">{line}</summary>
      {isOpen && <StepDetail run={run} position={position} step={step} />}
    </details>
  )
}

function nameOf(step: InvocationStep): string {
  if (step.kind === 'tool') return step.name
  return step.kind === 'wait' ? `wait: ${step.reason}` : step.kind
}

function Spent({ step }: { step: InvocationStep }) {
  if (step.kind === 'recall') return <>{countText(step.turns + step.memories)} found</>
  if (step.kind !== 'model') return null
  return (
    <>
      {countText(step.usage.total_tokens)} tokens
      {step.cost_usd !== 0 && (
        <div>
          <Cost usd={step.cost_usd} />
        </div>
      )}
    </>
  )
}
