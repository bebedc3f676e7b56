import { type ErrorDetail, invalid } from '../../../errors.ts'
import type { AttachmentInput } from '../../../runtime/attachments/attachment.ts'
import type { GivenCall, GivenInput, GivenRound, GivenTurn } from '../../../runtime/given.ts'
import type { CallRequest } from '../dialect.ts'
import { ONLY_FILES } from '../made-files.ts'
import type { PlacedAttachment } from './parameters.ts'

const MAX_MESSAGE = 100_000

/** What one side has said or done. Items are in the order of the conversation. */
export type Item =
  | { kind: 'system'; text: string }
  | { kind: 'user'; text: string; attachments?: PlacedAttachment[] }
  | { kind: 'assistant'; text: string; calls: GivenCall[]; of?: string }
  | { kind: 'result'; call: GivenCall; text: string }

type ParsedItems = Pick<GivenInput, 'history' | 'rounds' | 'instructions' | 'goes_on'> & {
  message: string
  attachments?: readonly AttachmentInput[]
  rename: NonNullable<CallRequest['rename']>
}

type PlacedTurn = GivenTurn<PlacedAttachment>

/** A placeholder for the message of the continued response, which replaces it. */
const SAME_MESSAGE = '(the message of the previous response)'

/**
 * The user's last message becomes the run's message. Items before it are the history, and items after it are what the
 * model has already answered. `field` names the list in errors.
 */
export function readConversation(items: readonly Item[], field: string, hasPrevious: boolean): ParsedItems {
  const instructions = items.flatMap((item) => (item.kind === 'system' ? [item.text] : [])).join('\n\n')
  const turns: PlacedTurn[] = []
  let open: OpenTurn | undefined
  const requireResults = () => {
    const call = open?.unanswered()
    if (call !== undefined) throw invalid(problem(field, `has no result for the call ${call}`))
  }
  const close = (content: string, of?: string) => {
    requireResults()
    if (open) turns.push(open.closed(content, of))
    open = undefined
  }
  for (const item of items) {
    if (item.kind === 'user') {
      close('')
      const { text: content, attachments } = item
      turns.push({ role: 'user', content, ...(attachments && { attachments }) })
    } else if (item.kind === 'result') {
      open ??= new OpenTurn()
      if (!open.take(item))
        throw invalid(problem(field, `has a result for the call ${item.call.id}, but doesn't contain that call`))
    } else if (item.kind === 'assistant') {
      open ??= new OpenTurn()
      if (item.calls.length === 0) close(item.text, item.of)
      else open.call(item.calls, item.text)
    }
  }
  requireResults()
  const told = { ...(instructions !== '' && { instructions }), rename: renaming(turns, field) }
  const last = turns.at(-1)
  const rounds = open && { rounds: open.rounds }
  if (last?.role !== 'user') {
    if (!open) throw invalid(problem(field, 'must end with a user message or a tool result'))
    if (!hasPrevious) throw invalid(problem(field, 'has no user message before the tool result'))
    return { ...told, ...rounds, ...historyOf(turns), goes_on: true, message: SAME_MESSAGE }
  }
  const { attachments } = last
  if (last.content === '' && !attachments) throw invalid(problem(field, 'ends with an empty message'))
  if (last.content.length > MAX_MESSAGE) throw invalid(problem(field, `ends with more than ${MAX_MESSAGE} characters`))
  const message = last.content || ONLY_FILES
  return { ...told, ...rounds, ...historyOf(turns.slice(0, -1)), message, ...askedIn(attachments) }
}

function askedIn(attachments: readonly PlacedAttachment[] | undefined): { attachments?: AttachmentInput[] } {
  return attachments ? { attachments: attachments.map(({ asked }) => asked) } : {}
}

/** Matches an attachment, or the whole list, of the message or of an earlier turn. What follows is a part of it. */
const ATTACHED = /^((?:history\.\d+\.)?attachments(?:\.\d+)?)(?:\.|$)/

/** Returns where in the client's list an attachment was sent. The last turn may be the run's message. */
function renaming(turns: readonly PlacedTurn[], list: string): ParsedItems['rename'] {
  const places = new Map([['attachments', list]])
  const put = ({ attachments = [] }: PlacedTurn, before: string) => {
    for (const [i, one] of attachments.entries()) places.set(`${before}attachments.${i}`, one.field)
  }
  for (const [i, turn] of turns.entries()) put(turn, `history.${i}.`)
  const last = turns.at(-1)
  if (last) put(last, '')
  return (field) => places.get(ATTACHED.exec(field)?.[1] ?? '') ?? field
}

/** A round while it is being collected. */
type OpenRound = {
  round: Omit<GivenRound, 'calls' | 'results'> & { calls: GivenCall[]; results: ({ result: string } | null)[] }
  hasResults: boolean
  /** Set if a call has no name, because only an earlier response knows it. */
  isNameless: boolean
}

/** An assistant's turn that has called tools and isn't complete yet. */
class OpenTurn {
  readonly #rounds: OpenRound[] = []
  /**
   * Where the results of a call belong: the latest round with a call of this ID, and the positions of the call there.
   */
  readonly #calls = new Map<string, { open: OpenRound; at: number[] }>()

  get rounds(): GivenRound[] {
    return this.#rounds.map(({ round }) => round)
  }

  closed(content: string, of?: string): PlacedTurn {
    const turn = { role: 'assistant' as const, content, ...(of !== undefined && { of }) }
    return this.#rounds.length === 0 ? turn : { ...turn, rounds: this.rounds }
  }

  /** The first call that has no result. */
  unanswered(): string | undefined {
    for (const { round } of this.#rounds) {
      const at = round.results.indexOf(null)
      if (at >= 0) return round.calls[at]?.id
    }
    return undefined
  }

  /** Adds calls. The client may send the calls of one answer one by one. */
  call(calls: readonly GivenCall[], text: string): void {
    const last = this.#rounds.at(-1)
    const open = last && !last.hasResults ? last : this.#begin({ calls: [], results: [], finish: 'stop', text })
    for (const call of calls) this.#add(open, call, null)
  }

  /** Takes a result. Returns false if there is no such call. */
  take({ call, text }: Extract<Item, { kind: 'result' }>): boolean {
    const known = this.#calls.get(call.id)
    if (known) {
      known.open.hasResults = true
      for (const at of known.at) known.open.round.results[at] = { result: text }
      return true
    }
    // If the call has an origin, it is in an earlier response, which knows its name.
    if (!call.of) return false
    const last = this.#rounds.at(-1)
    const open = last?.isNameless ? last : this.#begin({ calls: [], results: [], finish: 'stop' })
    open.hasResults = true
    this.#add(open, call, { result: text })
    return true
  }

  #begin(round: OpenRound['round']): OpenRound {
    const open = { round, hasResults: false, isNameless: true }
    this.#rounds.push(open)
    return open
  }

  #add(open: OpenRound, call: GivenCall, result: { result: string } | null): void {
    const known = this.#calls.get(call.id)
    const at = open.round.calls.length
    if (known?.open === open) known.at.push(at)
    else this.#calls.set(call.id, { open, at: [at] })
    open.round.calls.push(call)
    open.round.results.push(result)
    open.isNameless &&= call.name === ''
  }
}

function historyOf(turns: readonly PlacedTurn[]): Pick<GivenInput, 'history'> {
  const history = turns.map(({ attachments, ...turn }) => ({ ...turn, ...askedIn(attachments) }))
  return history.length === 0 ? {} : { history }
}

function problem(field: string, error: string): ErrorDetail {
  return { field, error }
}
