import { z } from 'zod'
import { parseTime } from '../../lib/time.ts'
import type { Round, ToolCall } from '../models/model.ts'
import type { ToolResult } from '../outcome.ts'
import { ASK_PERSON, HOST_STEP } from '../steps.ts'

export const KEEP = `${HOST_STEP}keep`

const MAX_STEPS_AT_ONCE = 16
const MAX_SLEEP_SECONDS = 366 * 24 * 3_600

const Named = z.strictObject({
  id: z
    .string()
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/, 'must be 1 to 128 visible ASCII characters')
    .describe('Identifies the step within its run. If the same ID is requested again, the stored result is returned'),
})

const Turns = z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content: z.string() })).max(200)

/** The input of each of the host's own steps. It is checked no matter how the step is requested. */
export const HOST_INPUT = {
  keep: z.strictObject({ value: z.unknown() }),
  /** The time to wake is fixed when the step is first requested. */
  sleep: z.strictObject({ until: z.int().min(0) }),
  memory_search: z.strictObject({
    query: z.string().min(1).max(4_096),
    limit: z.int().min(1).max(50).default(5),
  }),
  memory_write: z.strictObject({ content: z.string().min(1).max(20_000) }),
  model: z.strictObject({
    model: z.string().min(1).max(200).optional().describe("Default: the agent's own"),
    instructions: z.string().max(100_000).optional(),
    history: Turns.default([]),
    message: z.string().min(1),
    temperature: z.number().min(0).max(2).optional(),
    max_output_tokens: z.int().min(1).max(1_000_000).optional().describe("At most the agent's own limit"),
    output: z
      .strictObject({ schema: z.record(z.string(), z.unknown()) })
      .optional()
      .describe('The JSON Schema that the answer must match'),
  }),
}
export type HostStep = keyof typeof HOST_INPUT

/** A step that a remote agent requests from its host. */
export const AskedStep = z
  .discriminatedUnion('type', [
    Named.extend({
      type: z.literal('tool').describe("Calls one of the agent's tools"),
      tool: z
        .string()
        .min(1)
        .max(128)
        .regex(/^(?!step\.)/, 'must be a tool name; other steps are requested by their type'),
      arguments: z.record(z.string(), z.unknown()).default({}),
    }),
    Named.extend({
      type: z.literal('keep').describe('Stores a value. A later call gets it back'),
      ...HOST_INPUT.keep.shape,
    }),
    Named.extend({
      type: z.literal('sleep').describe('Waits until that time, or for that many seconds'),
      until: z.iso.datetime({ offset: true }).optional(),
      seconds: z.number().min(0).max(MAX_SLEEP_SECONDS).optional(),
    }),
    Named.extend({
      type: z.literal('ask_person').describe('Asks a person; the run waits for the answer'),
      question: z.string().min(1).max(10_000),
      options: z.array(z.string()).max(20).optional(),
    }),
    Named.extend({
      type: z.literal('memory_search').describe('Searches the memories that this run has access to'),
      ...HOST_INPUT.memory_search.shape,
    }),
    Named.extend({
      type: z.literal('memory_write').describe("Stores a note for this run's user"),
      ...HOST_INPUT.memory_write.shape,
    }),
    Named.extend({
      type: z
        .literal('model')
        .describe('Calls a model by its name in this service; usage is counted and limited by budgets'),
      ...HOST_INPUT.model.shape,
    }),
  ])
  .meta({ id: 'AskedStep' })
export type AskedStep = z.output<typeof AskedStep>

export const AskedSteps = z
  .array(AskedStep)
  .min(1)
  .max(MAX_STEPS_AT_ONCE)
  .refine((steps) => new Set(steps.map(({ id }) => id)).size === steps.length, 'must have different IDs')

/** A step's result, as the remote agent receives it. */
export const DoneStep = z
  .object({
    id: z.string(),
    result: z.unknown().optional().describe('Text for a tool or a person; a JSON value for the others'),
    error: z.string().optional().describe('Present instead of a result if the step failed'),
  })
  .meta({ id: 'DoneStep' })
export type DoneStep = { id: string; result: unknown } | { id: string; error: string }

/** Converts a step to a tool call, because a run treats both the same way. */
export function callOf(step: AskedStep, now: number): ToolCall {
  if (step.type === 'tool') return { id: step.id, name: step.tool, arguments: JSON.stringify(step.arguments) }
  const { id, type, ...asked } = step
  const input = type === 'sleep' ? { until: endOf(step, now) } : asked
  return { id, name: HOST_STEP + type, arguments: JSON.stringify(input) }
}

function endOf({ until, seconds = 0 }: Extract<AskedStep, { type: 'sleep' }>, now: number): number {
  return Math.ceil((until === undefined ? undefined : parseTime(until)) ?? now + seconds * 1000)
}

export function doneStep({ id, name, arguments: given }: ToolCall, result: ToolResult): DoneStep {
  if ('error' in result) return { id, error: result.error }
  if (name === KEEP) return { id, result: (JSON.parse(given) as { value?: unknown }).value ?? null }
  const isText = !name.startsWith(HOST_STEP) || name === ASK_PERSON
  return { id, result: isText ? result.result : JSON.parse(result.result) }
}

/** All steps that have a result so far. */
export function doneIn(rounds: readonly Round[]): DoneStep[] {
  return rounds.flatMap(({ calls, results }) =>
    calls.flatMap((call, index) => {
      const result = results[index]
      return result ? [doneStep(call, result)] : []
    }),
  )
}
