import type { Invocation, InvocationStep } from '../../../sdk/client.ts'
import { may } from '../../lib/session-state.ts'
import { counted, countText, usdText } from '../../lib/text/format.ts'
import { Unfit } from '../data/value-tree.tsx'
import { Who } from '../data/who.tsx'
import { Attachments } from '../files/attachments.tsx'
import { LongText } from './long-text.tsx'
import { PromptShown, RecalledMemories } from './prompt-shown.tsx'

type Of<Kind extends InvocationStep['kind']> = Extract<InvocationStep, { kind: Kind }>

/** A step's input and output. */
export function StepDetail({ run, position, step }: { run: Invocation; position: number; step: InvocationStep }) {
  switch (step.kind) {
    case 'recall':
      return <RecallDetail run={run} position={position} step={step} />
    case 'model':
      return <ModelDetail run={run} position={position} step={step} />
    case 'tool':
      return (
        <div class="detail">
          <Value label="Arguments" value={step.arguments} />
          {step.result !== undefined && <Value label="Result" value={step.result} />}
          {step.error !== undefined && <Value label="Error" value={step.error} />}
          <Attachments files={step.files} label="Files" />
        </div>
      )
    case 'approval':
      return (
        <div class="detail">
          <p>
            {step.name}: {step.decision}{' '}
            {step.by && (
              <span class="soft">
                by <Who id={step.by} name={step.by_name} />
              </span>
            )}
          </p>
          {step.arguments !== undefined && <Value label="Changed arguments" value={step.arguments} />}
          {step.note !== undefined && <Value label="Note" value={step.note} />}
          {step.answer !== undefined && <Value label="Answer" value={step.answer} />}
        </div>
      )
    case 'wait':
      return null
  }
}

function RecallDetail({ run, position, step }: { run: Invocation; position: number; step: Of<'recall'> }) {
  const asked = run.steps.findIndex(({ kind }, i) => i > position && kind === 'model')
  return (
    <div class="detail">
      <p>
        {counted(step.turns, 'turn')} of the session, {counted(step.memories, 'memory', 'memories')}
        {step.summary && ', a summary of the session'}
      </p>
      {step.memories > 0 && may('getPrompt') && (
        <RecalledMemories run={run} step={asked < 0 ? run.steps.length : asked} />
      )}
    </div>
  )
}

function ModelDetail({ run, position, step }: { run: Invocation; position: number; step: Of<'model'> }) {
  const { usage, cost_usd, left_out, finish, unfit } = step
  const calls = callsAfter(run, position)
  const said = saidIn(run, position)
  return (
    <div class="detail">
      <p>
        {countText(usage.input_tokens)} tokens in, {countText(usage.output_tokens)} out, {usdText(cost_usd)}
        {finish && <span class="soft"> · stopped early: {finish}</span>}
      </p>
      {left_out && (
        <p class="notice">
          The prompt was too long. Left out: {counted(left_out.turns, 'older turn')},{' '}
          {counted(left_out.memories, 'memory', 'memories')}. Shortened: {counted(left_out.shortened, 'turn')}.
        </p>
      )}
      {unfit && (
        <>
          <h4>The answer doesn't match the schema</h4>
          <Unfit {...unfit} />
        </>
      )}
      {said !== '' && <Value label="Text" value={said} />}
      {calls.length > 0 && <Value label="Requested tool calls" value={calls.join('\n')} />}
      {may('getPrompt') && <PromptShown run={run} step={position} />}
    </div>
  )
}

/**
 * The part of the response that this step added: the response consists of all model steps' texts, one after the other.
 */
function saidIn({ response, steps }: Invocation, position: number): string {
  const lengths = steps.map((step) => (step.kind === 'model' ? step.characters : 0))
  const start = lengths.slice(0, position).reduce((sum, length) => sum + length, 0)
  return (response ?? '').slice(start, start + (lengths[position] ?? 0)).trim()
}

function callsAfter({ steps, calls }: Invocation, position: number): string[] {
  const next = steps.findIndex(({ kind }, i) => i > position && kind === 'model')
  const own = steps.slice(position + 1, next < 0 ? undefined : next).filter((step) => step.kind === 'tool')
  return [...own, ...(next < 0 ? calls : [])].map((call) => `${call.name} ${JSON.stringify(call.arguments)}`)
}

function Value({ label, value }: { label: string; value: unknown }) {
  return (
    <>
      <h4>{label}</h4>
      <LongText label={label} text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} />
    </>
  )
}
