import type { Round } from '../../runtime/models/model.ts'
import type { ToolResult } from '../../runtime/outcome.ts'
import { outputInstruction, outputReminder } from '../../runtime/output/ask-in-words.ts'
import type { WantedOutput } from '../../runtime/output/wanted-output.ts'
import { shownCall } from '../../runtime/told-steps.ts'
import type { Invocation } from '../invocation.ts'
import type { ReceiptStep, UnfitReceipt } from '../steps/receipt-steps.ts'
import type { ShownMessage } from './prompt.ts'

/** A message with its whole text. */
export type WholeMessage = Omit<ShownMessage, 'characters'>

/** The rounds that the caller told. */
export function givenMessages(rounds: readonly Round[] = []): WholeMessage[] {
  return rounds.flatMap(({ text = '', calls, results }) => [
    { role: 'assistant' as const, content: text, calls: calls.map(shownCall) },
    ...calls.map(({ name }, i) => {
      const result = results[i]
      return { role: 'tool' as const, name, content: resultText(result ?? { error: 'No result' }) }
    }),
  ])
}

/** The rounds of the run itself, as its receipt tells them. */
export function ownMessages(
  { response }: Invocation,
  steps: readonly ReceiptStep[],
  wanted: WantedOutput | undefined,
): WholeMessage[] {
  const messages: WholeMessage[] = []
  let said = 0
  for (const [i, step] of steps.entries()) {
    if (step.kind !== 'model') continue
    const text = (response ?? '').slice(said, said + step.characters).trim()
    said += step.characters
    const end = steps.findIndex(({ kind }, at) => at > i && kind === 'model')
    const results = steps
      .slice(i + 1, end < 0 ? undefined : end)
      .filter((one) => one.kind === 'tool')
      .toSorted((a, b) => a.index - b.index)
    const calls = results.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }))
    messages.push({ role: 'assistant', content: step.unfit?.answer ?? text, calls })
    for (const one of results) messages.push(toolMessage(one))
    if (step.unfit && wanted) messages.push({ role: 'user', content: toldAfter(step.unfit, wanted) })
  }
  return messages
}

function toolMessage(one: ToolResult & { name: string }): WholeMessage {
  const message = { role: 'tool' as const, name: one.name, content: resultText(one) }
  return 'files' in one && one.files ? { ...message, files: one.files } : message
}

/** What the model was told after an answer that does not fit. */
function toldAfter({ asked, problems }: UnfitReceipt, wanted: WantedOutput): string {
  if (!asked) return outputInstruction(wanted)
  return outputReminder(
    problems.map(({ field, error }) => ({ at: field, problem: error })),
    wanted,
  )
}

function resultText(result: { result: string } | { error: string }): string {
  return 'result' in result ? result.result : `Error: ${result.error}`
}
