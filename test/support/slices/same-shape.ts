// What is reported about an agent, without what differs from run to run, and without what may differ between an agent
// with a model and a remote program that does the same.

type Fields = Record<string, unknown>

/** Fields that differ from run to run, or that count earlier events. */
const OWN = /^(.*_at|created|timestamp|.*duration_ms|sequence_number|expires_at|expiresAt)$/

/** IDs of runs, and what channels make of them. */
const ID =
  /(req|agt|apr|bud|evt|key|log|sch|whk)_[0-9A-HJKMNP-TV-Z]{26}|(resp|msg|tool|res)_[0-9A-HJKMNP-TV-Z]+(_\d+)?|chatcmpl-[0-9A-Z]+|int_[\w-]+/g

/** What may differ, and why. */
const BY_NATURE = {
  /**
   * A program asks models through steps of its host, which are reported as tool calls that the agent itself doesn't
   * make.
   */
  isHostStep: (value: unknown) => /^step\.(?!ask_person)/.test(String((value as Fields)?.['name'])),
  /** It needs no tool to ask a person. */
  question: 'step.ask_person',
  /** It says why it failed, and a client should know that this text comes from a program. */
  failure: 'The remote agent failed: ',
  /** What has answered isn't a model. */
  models: new Set(['remote', 'local/tiny']),
  /** Its own answers cost nothing. What models have cost is in the steps that asked them, and in the sum. */
  ofModelSteps: new Set(['usage', 'cost_usd', 'characters']),
}

const PIECE = 'a piece of the answer'

/** How an answer is cut into pieces depends on timing, so all consecutive pieces count as one. */
function isPiece(value: unknown): boolean {
  const { type, event, data, choices, result } = Object(value) as Fields
  if (type === 'TEXT_MESSAGE_CONTENT') return true
  if (event === 'delta' || event === 'response.output_text.delta') return true
  const [choice] = (choices as { delta?: Fields }[] | undefined) ?? []
  if (choice?.delta && Object.keys(choice.delta).join() === 'content') return true
  return Boolean((Object(result ?? Object(data).result) as Fields)['artifactUpdate'])
}

/** The same for all agents that do the same. `agent` is the name of the agent that it is about. */
export function sameShape(told: unknown, agent: string): unknown {
  if (typeof told === 'string') {
    if (BY_NATURE.models.has(told)) return '(what answers)'
    if (told === BY_NATURE.question) return 'ask_person'
    return told
      .replace(BY_NATURE.failure, '')
      .replace(ID, '(id)')
      .replace(new RegExp(`^${agent}$`), '(agent)')
  }
  if (Array.isArray(told)) return rowOf(told, agent)
  if (typeof told !== 'object' || told === null) return told
  const isModelStep = (told as Fields)['kind'] === 'model'
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => {
      if (isModelStep && BY_NATURE.ofModelSteps.has(name)) return [name, 'its own']
      if (OWN.test(name)) return [name, value === null ? null : typeof value]
      return [name, sameShape(value, agent)]
    }),
  )
}

function rowOf(told: unknown[], agent: string): unknown[] {
  const row: unknown[] = []
  for (const one of told) {
    const { data, kind } = Object(one) as Fields
    if (BY_NATURE.isHostStep(one) || BY_NATURE.isHostStep(data)) continue
    const shape = isPiece(one) ? PIECE : sameShape(one, agent)
    const last = row.at(-1)
    // Between two host steps, a program has said nothing.
    const goesOn =
      (shape === PIECE && last === PIECE) || (kind === 'model' && (Object(last) as Fields)['kind'] === 'model')
    if (!goesOn) row.push(shape)
  }
  return row
}
