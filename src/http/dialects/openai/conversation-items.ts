import { type ErrorDetail, invalid } from '../../../errors.ts'
import type { Given, GivenCall, GivenRound, GivenTurn } from '../../../runtime/given.ts'

const MAX_MESSAGE = 100_000

/** What one side said or did, in the order of the conversation. */
export type Item =
  | { kind: 'system'; text: string }
  | { kind: 'user'; text: string }
  | { kind: 'assistant'; text: string; calls: GivenCall[]; of?: string }
  | { kind: 'result'; call: GivenCall; text: string }

type Told = Pick<Given, 'history' | 'rounds' | 'instructions' | 'goes_on'> & { message: string }

/** Stands for the message of the response that is continued, which is put in its place. */
const SAME_MESSAGE = '(the message of the previous response)'

/**
 * The last message of the user is the message of the run. What comes before it is the history, and what comes after it
 * is what the model has answered so far. `field` names the list in errors.
 */
export function readConversation(items: readonly Item[], field: string, hasPrevious: boolean): Told {
  const instructions = items.flatMap((item) => (item.kind === 'system' ? [item.text] : [])).join('\n\n')
  const turns: GivenTurn[] = []
  let open: OpenTurn | undefined
  const close = () => {
    if (open) turns.push(closed(open))
    open = undefined
  }
  for (const item of items) {
    if (item.kind === 'user') {
      close()
      turns.push({ role: 'user', content: item.text })
    } else if (item.kind === 'result') {
      open = withResult(open, item, field)
    } else if (item.kind === 'assistant') {
      open = withAnswer(open, item)
      if (item.calls.length === 0) close()
    }
  }
  const told = { ...(instructions !== '' && { instructions }) }
  const last = turns.at(-1)
  const rounds = open && { rounds: open.rounds }
  if (last?.role !== 'user') {
    if (!open) throw invalid(problem(field, 'must end with a message of the user or the result of a tool'))
    if (!hasPrevious) throw invalid(problem(field, 'has no message of the user before the result of a tool'))
    return { ...told, ...rounds, ...historyOf(turns), goes_on: true, message: SAME_MESSAGE }
  }
  if (last.content === '') throw invalid(problem(field, 'ends with an empty message'))
  if (last.content.length > MAX_MESSAGE) throw invalid(problem(field, `ends with more than ${MAX_MESSAGE} characters`))
  return { ...told, ...rounds, ...historyOf(turns.slice(0, -1)), message: last.content }
}

/** A turn of the assistant that has called tools and not said its last word. */
type OpenTurn = GivenTurn & { rounds: GivenRound[] }

const NEW_TURN = { role: 'assistant', content: '' } as const

function closed({ rounds, ...turn }: OpenTurn): GivenTurn {
  return rounds.length === 0 ? turn : { ...turn, rounds }
}

function historyOf(history: GivenTurn[]): Pick<Given, 'history'> {
  return history.length === 0 ? {} : { history }
}

function withAnswer(open: OpenTurn | undefined, item: Extract<Item, { kind: 'assistant' }>): OpenTurn {
  const { text, calls, of } = item
  const rounds = open?.rounds ?? []
  if (calls.length === 0) return { ...NEW_TURN, content: text, rounds, ...(of !== undefined && { of }) }
  const last = rounds.at(-1)
  // Calls of one answer may come one by one.
  const isSame = last && last.results.every((result) => result === null)
  const round = isSame ? { ...last, calls: [...last.calls, ...calls] } : { calls, finish: 'stop' as const, text }
  const results = round.calls.map(() => null)
  return { ...NEW_TURN, rounds: [...(isSame ? rounds.slice(0, -1) : rounds), { ...round, results }] }
}

function withResult(
  open: OpenTurn | undefined,
  { call, text }: Extract<Item, { kind: 'result' }>,
  field: string,
): OpenTurn {
  const rounds = open?.rounds ?? []
  const at = rounds.findLastIndex(({ calls }) => calls.some(({ id }) => id === call.id))
  const round = rounds[at]
  if (!round) {
    // The call is in an earlier response, which knows its name.
    if (!call.of) throw invalid(problem(field, `has a result for the call ${call.id}, which is not in it`))
    const last = rounds.at(-1)
    const together = last?.calls.every(({ name }) => name === '') ? last : undefined
    const calls = [...(together?.calls ?? []), call]
    const results = [...(together?.results ?? []), { result: text }]
    return { ...NEW_TURN, rounds: [...(together ? rounds.slice(0, -1) : rounds), { calls, results, finish: 'stop' }] }
  }
  const results = round.results.map((result, i) => (round.calls[i]?.id === call.id ? { result: text } : result))
  return { ...NEW_TURN, rounds: rounds.with(at, { ...round, results }) }
}

function problem(field: string, error: string): ErrorDetail {
  return { field, error }
}
