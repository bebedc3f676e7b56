import type { Invocation } from '../../../sdk/client.ts'
import { filesMadeIn } from '../../lib/files/shown-file.ts'
import { countText } from '../../lib/text/format.ts'
import { Attachments } from '../files/attachments.tsx'
import { AnswerText } from '../text/answer-text.tsx'

/** What doesn't fit, and where, as a JSON pointer. */
type Problem = { field: string; error: string }

type Node = { value: unknown; problems: readonly Problem[]; at?: string; name?: string }

/** More entries than this from one list or object would make the page slow. */
const SHOWN = 200
/** The reader opens deeper levels. */
const OPEN_DEPTH = 3

/** A value as a tree. A problem with a part is shown next to that part. */
function ValueTree({ value, problems = [] }: { value: unknown; problems?: readonly Problem[] | undefined }) {
  return (
    <div class="tree" role="group" aria-label="Value">
      <Branch value={value} problems={problems} />
    </div>
  )
}

function Branch({ value, problems, at = '', name }: Node) {
  const label = name === undefined ? null : <span class="soft">{name}: </span>
  const wrong = <Wrong at={at} problems={problems} />
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="leaf">
        {label}
        <code>{JSON.stringify(value)}</code>
        {wrong}
      </div>
    )
  }
  const members = Object.entries(value)
  const isList = Array.isArray(value)
  const depth = at.split('/').length
  return (
    <details open={depth <= OPEN_DEPTH}>
      <summary>
        {label}
        <span class="soft">{isList ? `list of ${countText(members.length)}` : `${countText(members.length)} fields`}</span>
        {wrong}
      </summary>
      {members.slice(0, SHOWN).map(([key, inner]) => (
        <Branch key={key} name={key} value={inner} problems={problems} at={`${at}/${escaped(key)}`} />
      ))}
      {members.length > SHOWN && <p class="soft">and {countText(members.length - SHOWN)} more</p>}
    </details>
  )
}

function Wrong({ at, problems }: { at: string; problems: readonly Problem[] }) {
  const here = problems.filter(({ field }) => field === at).map(({ error }) => error)
  return here.length === 0 ? null : <span class="wrong">{here.join('; ')}</span>
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** A run's answer: its value if it has one, otherwise its text, and the files that its tools made. */
export function AnswerShown({ run, text }: { run: Invocation | undefined; text: string }) {
  return (
    <>
      {run && 'output' in run ? <ValueTree value={run.output} /> : <AnswerText text={text} />}
      {run && <Attachments files={filesMadeIn(run)} label="Files from tools" />}
    </>
  )
}

/** The last answer of a run that produced no fitting answer. */
export function UnfitAnswer({ run }: { run: Invocation | undefined }) {
  if (run?.error?.code !== 'output_invalid') return null
  const last = run.steps.findLast((step) => step.kind === 'model')
  return last?.kind === 'model' && last.unfit ? <Unfit {...last.unfit} /> : null
}

/** An answer that doesn't fit, with its problems. */
export function Unfit({ answer, problems }: { answer: string; problems: readonly Problem[] }) {
  const value = valueIn(answer)
  if (value !== undefined) return <ValueTree value={value} problems={problems} />
  return (
    <div class="tree">
      <code>{answer}</code>
      <Wrong at="" problems={problems} />
    </div>
  )
}

function valueIn(answer: string): unknown {
  try {
    return JSON.parse(answer.trim().replace(/^```\w*\n([\s\S]*?)\n?```$/, '$1'))
  } catch {
    return undefined
  }
}
