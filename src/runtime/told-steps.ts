import { storable } from '../lib/text/text.ts'
import type { Position } from './following/transcript.ts'
import type { ToolCall } from './models/model.ts'
import type { RunEvent } from './outcome.ts'
import type { Step } from './steps.ts'
import { argumentsOf } from './tools/arguments.ts'

/** A tool call as clients see it: with its parsed arguments, or with the model's text if they can't be parsed. */
export function shownCall(call: ToolCall): ShownCall {
  const { id, name } = call
  const args = argumentsOf(call)
  return { id, name: storable(name.slice(0, 128)), arguments: 'value' in args ? args.value : args.raw }
}

export type ShownCall = { id: string; name: string; arguments: unknown }

/** What followers receive about a call. `index` is its position in the answer. */
export function toldCall(call: ToolCall, index: number): Extract<RunEvent, { type: 'tool_call' }> {
  return { type: 'tool_call', ...shownCall(call), ...(call.handed && { handed: index }) }
}

/** The events that followers of a run received for these steps, in the same order. */
export function eventsOf(steps: readonly Step[]): RunEvent[] {
  return steps.flatMap((step): RunEvent[] => {
    if (step.kind === 'tool') {
      const { arguments: _given, duration_ms: _duration, ...result } = step.call
      return [{ type: 'tool_result', ...result }]
    }
    if (step.kind !== 'model') return []
    const calls = step.answer.calls.map(toldCall)
    return step.text === '' ? calls : [{ type: 'delta', text: step.text }, ...calls]
  })
}

/** What a step has added to the stream of its run: characters of the response, and tool events. */
type StreamedPart = { attempt: number; characters: number; tools: number }

function partOf(step: Step): StreamedPart {
  if (step.kind !== 'model') return { attempt: step.attempt, characters: 0, tools: step.kind === 'tool' ? 1 : 0 }
  return { attempt: step.attempt, characters: step.text.length, tools: step.answer.calls.length }
}

/** The position after the stored steps of each attempt. Later attempts continue from there with the same text. */
export function milestonesOf(steps: readonly Step[]): Position[] {
  return milestonesOfParts(steps.map(partOf))
}

export function milestonesOfParts(parts: readonly StreamedPart[]): Position[] {
  const milestones: Position[] = []
  let [characters, tools] = [0, 0]
  for (const part of parts) {
    characters += part.characters
    tools += part.tools
    if (milestones.at(-1)?.attempt === part.attempt) milestones.pop()
    milestones.push({ attempt: part.attempt, characters, tools })
  }
  return milestones
}

/** Whether an attempt continues from what a client has read of an earlier one. */
export function goesOn(told: Position, milestones: readonly Position[]): boolean {
  const kept = milestones.findLast(({ attempt }) => attempt <= told.attempt) ?? { characters: 0, tools: 0 }
  return told.characters <= kept.characters && told.tools <= kept.tools
}
