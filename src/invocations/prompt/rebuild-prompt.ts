import type { Agent } from '../../agents/agent.ts'
import { type Definition, hasModel } from '../../agents/definition.ts'
import { getDefinition } from '../../deployments/serving.ts'
import { notFound, unavailable } from '../../errors.ts'
import { type NamedMemories, readNamed } from '../../memory/search/read-named.ts'
import type { Needs } from '../../operation/context.ts'
import type { Round } from '../../runtime/models/model.ts'
import { firstName } from '../../runtime/models/model.ts'
import { wantedOutput } from '../../runtime/models/model-request.ts'
import type { ToolResult } from '../../runtime/outcome.ts'
import { outputInstruction, outputReminder } from '../../runtime/output/ask-in-words.ts'
import type { WantedOutput } from '../../runtime/output/wanted-output.ts'
import { buildPrompt, shownMemories } from '../../runtime/prompt/build-prompt.ts'
import { fitIntoRoom } from '../../runtime/prompt/fit-prompt.ts'
import { type ModelInput, type RecalledMemory } from '../../runtime/run-input.ts'
import { shownCall } from '../../runtime/told-steps.ts'
import type { Database } from '../../storage/database.ts'
import { resolveGiven } from '../given/resolve-given.ts'
import { hasOwnMemory, type Invocation } from '../invocation.ts'
import type { ReceiptStep, UnfitReceipt } from '../steps/receipt-steps.ts'
import { cutMessages, type ShownMessage, type ShownPrompt } from './prompt.ts'

type PromptRequest = {
  agent: Agent
  invocation: Invocation
  steps: readonly ReceiptStep[]
  /** The position of the model step. */
  step: number
  /** The draft with which the run began, if it is still stored. */
  definition: Definition | undefined
}

export type RebuildNeeds = Needs<'db' | 'earlier' | 'memo' | 'storage'>

/** Rebuilds what the model was shown, from stored data, with the same functions that the run used. */
export async function rebuildPrompt(wanted: PromptRequest, parts: RebuildNeeds): Promise<ShownPrompt> {
  const { db } = parts
  const { invocation, steps, step } = wanted
  const notes: string[] = []
  const definition = await definitionThen(wanted, parts, notes)
  if (!hasModel(definition)) throw notFound('Prompt', invocation.id)
  const { temperature } = definition
  const asked = steps[step]
  const model = asked?.kind === 'model' ? asked.model : firstName(definition.model)
  const common = { step, model, temperature, tools: toolsOf(definition, invocation) }
  if (invocation.erased_at !== null) {
    const nothing = { messages: [], memories: [], left_out: null, output_schema: null }
    return { ...common, ...nothing, notes: ['The content of this invocation has been erased.'] }
  }
  const found = await rememberedBy(wanted, db, notes)
  const given = await givenTo(wanted, parts)
  const { message, context, attachments } = invocation
  const input: ModelInput = {
    agent: definition,
    message,
    context,
    history: given?.history ?? found.history,
    recalled: found.recalled,
    summary: found.summary,
    given,
    // If there are files, the prompt explains how their texts are quoted.
    ...(attachments && { files: new Map() }),
  }
  if (attachments) notes.push('Files are listed by name only; their text and images are not shown.')
  const output = wantedOutput(input)
  const left_out = (asked?.kind === 'model' && asked.left_out) || null
  const fitted = left_out ? fitIntoRoom(input, left_out.room).input : input
  const shown = new Set<RecalledMemory>(shownMemories(fitted))
  const prompt = buildPrompt(fitted).flatMap(withRounds)
  const asking = prompt.at(-1)
  if (attachments && asking) asking.attachments = [...attachments]
  const messages = [
    ...prompt,
    ...givenMessages(given?.rounds),
    ...ownMessages(invocation, steps.slice(0, step), output),
  ]
  return {
    ...common,
    messages: cutMessages(messages),
    memories: found.recalled.map((one) => ({ ...one, shown: shown.has(one) })),
    left_out,
    output_schema: output?.schema ?? null,
    notes,
  }
}

/** What its caller sent in addition to the message, with the conversation that it continues. */
export async function givenTo(
  { agent, invocation: { given } }: PromptRequest,
  { db, earlier }: Needs<'db' | 'earlier'>,
) {
  if (!given) return undefined
  const taken = await resolveGiven(given, agent, { db, texts: earlier })
  if (!taken) throw unavailable('Too many long conversations are being read. Try again shortly.')
  // Nothing is awaited from here on, so the memory for the texts is released before the next request reads any.
  taken.release()
  return taken.value
}

function withRounds({ role, content, rounds }: ReturnType<typeof buildPrompt>[number]): WholeMessage[] {
  return [...givenMessages(rounds), ...(content === '' ? [] : [{ role, content }])]
}

async function definitionThen({ agent, invocation, definition }: PromptRequest, parts: RebuildNeeds, notes: string[]) {
  if (definition) return definition
  const { version, created_at } = invocation
  if (version === null && agent.updated_at > created_at) {
    notes.push('The draft has changed since. Its current instructions and tools are shown.')
  }
  return getDefinition(agent, version, parts)
}

type PromptMemory = Pick<NamedMemories, 'history' | 'recalled'> & { summary: string | undefined }

const NOTHING: PromptMemory = { history: [], recalled: [], summary: undefined }

/** The recalled memories that still exist. */
export async function rememberedBy(wanted: PromptRequest, db: Database, notes: string[]): Promise<PromptMemory> {
  const { agent, invocation, steps, step } = wanted
  const recall = steps.slice(0, step).findLast((one) => one.kind === 'recall')
  if (!recall) return NOTHING
  if (!hasOwnMemory(invocation, agent)) {
    // A reader of this agent must not see the other agent's memories.
    notes.push('The model also saw memories of the agent that called this one. They are not shown here.')
    return NOTHING
  }
  const { user_id = null, session_id = null } = invocation.context
  const conversation = { agent_seq: agent.seq, user_id, session_id }
  const { forgotten, summary, ...found } = await readNamed(db, conversation, recall)
  if (forgotten > 0) notes.push(`Memories that were deleted since and are not shown: ${forgotten}.`)
  const isRenewed = recall.summarized_at !== null && summary?.updated_at !== recall.summarized_at
  if (isRenewed) notes.push("The session's summary has been rewritten since. The earlier one is no longer available.")
  return { ...found, summary: isRenewed ? undefined : summary?.content }
}

function toolsOf(definition: Definition, { given }: Invocation): ShownPrompt['tools'] {
  const own = definition.tools.map((tool) => ({ type: tool.type, name: tool.type === 'mcp' ? tool.url : tool.name }))
  return [...own, ...(given?.tools ?? []).map(({ name }) => ({ type: 'caller' as const, name }))]
}

/** A message with its whole text. */
type WholeMessage = Omit<ShownMessage, 'characters'>

/** The rounds that the caller sent. */
function givenMessages(rounds: readonly Round[] = []): WholeMessage[] {
  return rounds.flatMap(({ text = '', calls, results }) => [
    { role: 'assistant' as const, content: text, calls: calls.map(shownCall) },
    ...calls.map(({ name }, i) => {
      const result = results[i]
      return { role: 'tool' as const, name, content: resultText(result ?? { error: 'No result' }) }
    }),
  ])
}

/** The rounds of the run itself, from its receipt. */
function ownMessages(
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

/** The message to the model after an answer that didn't match the schema. */
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
