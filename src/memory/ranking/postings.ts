import { hasTimeWord, timeMentioned } from '../language/dates.ts'
import { countedTerms, type Question } from '../language/question.ts'
import { SPEAKER_MARK } from '../language/terms.ts'
import type { WordVectors } from '../language/word-vectors.ts'
import { grown } from './grown.ts'
import { Meanings } from './meanings.ts'
import { Speakers } from './speakers.ts'
import { TermLists } from './term-lists.ts'
import { TimeOrder } from './time-order.ts'
import { COMPARED, REACH } from './weights.ts'

/** Turns are short and many; notes are written to be found. Each collection has its own statistics. */
export type Collection = 'turn' | 'note'

/**
 * What BM25 needs to know about a collection: how many memories and how many terms it has, and how many memories
 * contain each term.
 */
export type Statistics = { count: number; length: number; having: ReadonlyMap<string, number> }

/** `said` is the number of memories from the time that the question asks about. */
export type ScopeStatistics = Readonly<Record<Collection, Statistics>> & { said: number }

/** A term that contains another term, and how many memories have it. */
export type Compound = { term: string } & Readonly<Record<Collection, number>>

/** The columns of a memory that the ranking reads. */
export type PostingRow = {
  seq: number
  kind: string
  role: string | null
  user_id: string
  session_id: string
  created_at: number
  terms: string
  length: number
}

const NONE = -1
const FIRST_SIZE = 16

const BYTES_BY_MEMORY = 45
const BYTES_BY_CONVERSATION = 120
const DAY = 86_400_000
/**
 * Times are searched only in this many terms at the beginning of a memory, because people mention times in short texts.
 */
const READ_FOR_TIME = 200

/**
 * The memories of one scope in flat arrays: which memories contain a term and how often, how long the memories are, who
 * said them and what was said next to them. It only grows. Memories should be appended in the order of `seq`.
 */
export class Postings {
  size = 0
  /** Indexed by memory, like all arrays here. */
  seqs = new Float64Array(FIRST_SIZE)
  times = new Float64Array(FIRST_SIZE)
  lengths = new Uint16Array(FIRST_SIZE)
  notes = new Uint8Array(FIRST_SIZE)
  speakers = new Int32Array(FIRST_SIZE)
  /** A number from `roleNumber`. 0 means no role. */
  roles = new Uint8Array(FIRST_SIZE)
  /** 1 if the memory mentions any time. */
  timely = new Uint8Array(FIRST_SIZE)
  /**
   * The time that the memory mentions, in days since 1970. The first day is included, and the last is excluded. Both
   * are 0 if it mentions none.
   */
  firstDays = new Int32Array(FIRST_SIZE)
  lastDays = new Int32Array(FIRST_SIZE)
  /** The turns directly before and after the memory in the session, or -1. */
  before = new Int32Array(FIRST_SIZE)
  after = new Int32Array(FIRST_SIZE)

  readonly terms = new TermLists()
  /** The meanings of the memories. Undefined if there are too many to compare them one by one. */
  meanings: Meanings | undefined

  readonly #speakers = new Speakers()
  readonly #order = new TimeOrder()
  #lastOf = new Map<string, number>()
  #count = { turn: 0, note: 0 }
  #length = { turn: 0, note: 0 }

  readonly #wanted: ReadonlySet<string> | undefined

  /** `words` are used to compare meanings. If `wanted` is set, all other terms are left out. */
  constructor(words?: WordVectors, wanted?: ReadonlySet<string>) {
    this.meanings = words && new Meanings(words)
    this.#wanted = wanted
  }

  append(row: PostingRow): void {
    const { seq, kind, role, created_at, length } = row
    const terms = row.terms.split(' ')
    const collection = collectionOf(kind)
    const memory = this.#newMemory()
    this.seqs[memory] = seq
    this.times[memory] = created_at
    this.#order.append(memory)
    this.lengths[memory] = length
    this.notes[memory] = collection === 'note' ? 1 : 0
    this.#count[collection] += 1
    this.#length[collection] += length

    this.terms.begin(memory)
    for (const term of terms) {
      if (this.#wanted?.has(term) !== false) this.terms.add(term, memory, collection === 'note')
    }
    const name = terms.filter((term) => term.startsWith(SPEAKER_MARK))
    this.speakers[memory] = name.length === 0 ? NONE : this.#speakers.numberOf(name)
    this.roles[memory] = roleNumber(role)
    const read = terms.slice(0, READ_FOR_TIME)
    if (hasTimeWord(read)) {
      this.timely[memory] = 1
      const mentioned = timeMentioned(read, created_at)
      this.firstDays[memory] = (mentioned?.from ?? 0) / DAY
      this.lastDays[memory] = (mentioned?.to ?? 0) / DAY
    }
    if (this.size > COMPARED) this.meanings = undefined
    this.meanings?.append(terms.slice(2 * name.length))
    this.before[memory] = NONE
    this.after[memory] = NONE
    if (collection === 'turn') this.#link(memory, conversationOf(row))
  }

  /** Roughly how many bytes of memory this takes. */
  get bytes(): number {
    const byMemory = this.seqs.length * BYTES_BY_MEMORY
    const byConversation = this.#lastOf.size * BYTES_BY_CONVERSATION
    return byMemory + byConversation + this.terms.bytes + (this.meanings?.bytes ?? 0)
  }

  /** The seqs of the latest turns of a conversation, latest first. */
  latestTurns(conversation: Pick<PostingRow, 'user_id' | 'session_id'>, limit: number): number[] {
    const found: number[] = []
    let turn = this.#lastOf.get(conversationOf({ ...conversation, created_at: 0 })) ?? NONE
    for (; turn !== NONE && found.length < limit; turn = this.before[turn] as number)
      found.push(this.seqs[turn] as number)
    return found
  }

  /** The statistics for a question. They are exact if all memories of the scope were appended. */
  statistics(question: Question): ScopeStatistics {
    const terms = countedTerms(question)
    const turns = new Map(terms.map((term) => [term, this.terms.turnsHaving(term)]))
    const notes = new Map(terms.map((term) => [term, this.terms.notesHaving(term)]))
    return {
      turn: { count: this.#count.turn, length: this.#length.turn, having: turns },
      note: { count: this.#count.note, length: this.#length.note, having: notes },
      said: question.window ? this.saidBetween(question.window.from, question.window.to).length : 0,
    }
  }

  /** The compounds of the question's terms, and how many memories have each. */
  compounds({ parts }: Question): ReadonlyMap<string, Compound[]> {
    const having = (term: string) => ({
      term,
      turn: this.terms.turnsHaving(term),
      note: this.terms.notesHaving(term),
    })
    return new Map(parts.map((part) => [part, this.terms.compoundsOf(part).map(having)]))
  }

  /** The memories from `from` up to, but not including, `to`. The latest come last. */
  saidBetween(from: number, to: number): Int32Array {
    return this.#order.between(from, to, this.times)
  }

  /** The speakers whose names contain most of these marked terms. */
  speakersNamed(names: readonly string[]): number[] {
    return this.#speakers.named(names)
  }

  #newMemory(): number {
    if (this.size === this.seqs.length) {
      this.seqs = grown(this.seqs)
      this.times = grown(this.times)
      this.lengths = grown(this.lengths)
      this.notes = grown(this.notes)
      this.speakers = grown(this.speakers)
      this.roles = grown(this.roles)
      this.timely = grown(this.timely)
      this.firstDays = grown(this.firstDays)
      this.lastDays = grown(this.lastDays)
      this.before = grown(this.before)
      this.after = grown(this.after)
    }
    return this.size++
  }

  /**
   * Links a turn with its neighbours. Turns usually arrive in the order in which they were said. For one that doesn't,
   * the position is searched from the end.
   */
  #link(memory: number, conversation: string): void {
    let previous = this.#lastOf.get(conversation) ?? NONE
    let next = NONE
    while (previous !== NONE && this.#isEarlier(memory, previous)) {
      next = previous
      previous = this.before[previous] as number
    }
    this.before[memory] = previous
    this.after[memory] = next
    if (previous !== NONE) this.after[previous] = memory
    if (next !== NONE) this.before[next] = memory
    else this.#lastOf.set(conversation, memory)
    this.#touch(this.before, memory)
    this.#touch(this.after, memory)
  }

  #touch(next: Int32Array, memory: number): void {
    if (!this.meanings) return
    let neighbour = next[memory] as number
    for (let distance = 1; distance <= REACH && neighbour !== NONE; distance++) {
      this.meanings.touch(neighbour)
      neighbour = next[neighbour] as number
    }
  }

  #isEarlier(memory: number, than: number): boolean {
    const difference = (this.times[memory] as number) - (this.times[than] as number)
    return difference < 0 || (difference === 0 && (this.seqs[memory] as number) < (this.seqs[than] as number))
  }
}

export function roleNumber(role: string | null | undefined): number {
  return role === 'user' ? 1 : role === 'assistant' ? 2 : 0
}

function collectionOf(kind: string): Collection {
  return kind === 'turn' ? 'turn' : 'note'
}

/**
 * Identifies the conversation that a turn shares with its neighbours. Without a session, only a message and its answer
 * belong together, because they have the same time.
 */
function conversationOf({
  user_id,
  session_id,
  created_at,
}: Pick<PostingRow, 'user_id' | 'session_id' | 'created_at'>): string {
  return JSON.stringify([user_id, session_id, session_id === '' ? created_at : 0])
}
