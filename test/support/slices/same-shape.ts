// What is told of an agent, without what differs from run to run, and without what is right to differ between an agent
// with a model and a program elsewhere that does the same.

type Fields = Record<string, unknown>

/** These differ from run to run, or count what was told before. */
const OWN = /^(.*_at|created|timestamp|.*duration_ms|sequence_number|expires_at)$/

/** Ids of runs and of what doors make of them. */
const ID =
  /(req|agt|apr|bud|evt|key|log|sch|whk)_[0-9A-HJKMNP-TV-Z]{26}|(resp|msg)_[0-9A-HJKMNP-TV-Z]+|chatcmpl-[0-9A-Z]+/g

/** What is right to differ, and why. */
const BY_NATURE = {
  /** A program asks models by steps of its host, which are told as calls of tools. They are not of the agent's making. */
  isHostStep: (value: unknown) => /^step\.(?!ask_person)/.test(String((value as Fields)?.['name'])),
  /** It needs no tool to ask a person. */
  question: 'step.ask_person',
  /** It says why it failed; a client should know that these are words of a program. */
  failure: 'The remote agent failed: ',
  /** What has answered is no model. */
  models: new Set(['remote', 'local/tiny']),
  /** Its own answers cost nothing: what models have cost is with the steps that asked them, and in the sum. */
  ofModelSteps: new Set(['usage', 'cost_usd', 'characters']),
}

const PIECE = 'a piece of the answer'

/** How an answer is cut into pieces is a matter of moments: all pieces in a row are one. */
function isPiece(value: unknown): boolean {
  const { event, data, choices, result } = Object(value) as Fields
  if (event === 'delta' || event === 'response.output_text.delta') return true
  const [choice] = (choices as { delta?: Fields }[] | undefined) ?? []
  if (choice?.delta && Object.keys(choice.delta).join() === 'content') return true
  return Boolean((Object(result ?? Object(data).result) as Fields)['artifactUpdate'])
}

/** The same for all agents that do the same. `agent` is the name of the one that is told of. */
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
    // Between two of its host's steps a program has said nothing.
    const goesOn =
      (shape === PIECE && last === PIECE) || (kind === 'model' && (Object(last) as Fields)['kind'] === 'model')
    if (!goesOn) row.push(shape)
  }
  return row
}
