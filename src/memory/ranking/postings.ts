import { hasTimeWord, timeMentioned, type Window } from './dates.ts'
import { Meanings } from './meanings.ts'
import { countedTerms, type Question } from './question.ts'
import { SPEAKER_MARK } from './terms.ts'
import { COMPARED, REACH } from './weights.ts'
import type { WordVectors } from './word-vectors.ts'

/** Turns are short and many, notes are written to be found: each kind is measured against its own. */
export type Collection = 'turn' | 'note'

/** What BM25 must know of a collection: how many memories, how many terms in all, and how many memories have a term. */
export type Statistics = { count: number; length: number; having: ReadonlyMap<string, number> }

/** `said` is how many memories are of the time that is asked about. */
export type ScopeStatistics = Readonly<Record<Collection, Statistics>> & { said: number }

/** The columns of a memory that ranking reads. */
export type Row = {
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

const BYTES_BY_MEMORY = 41
/** With its place in a map, and the term itself. */
const BYTES_BY_TERM = 80
const BYTES_BY_POSTING = 10
const BYTES_BY_CONVERSATION = 120
const DAY = 86_400_000

/**
 * Memories of one scope, in flat arrays: which of them have a term and how often, how long they are, who said them and
 * what was said next to them. It only grows. Memories are best appended in the order of `seq`.
 */
export class Postings {
  size = 0
  /** By memory. */
  seqs = new Float64Array(FIRST_SIZE)
  times = new Float64Array(FIRST_SIZE)
  lengths = new Uint16Array(FIRST_SIZE)
  notes = new Uint8Array(FIRST_SIZE)
  speakers = new Int32Array(FIRST_SIZE)
  /** As `roleNumber` has it; 0 is none. */
  roles = new Uint8Array(FIRST_SIZE)
  /** 1 if it speaks of time. */
  timely = new Uint8Array(FIRST_SIZE)
  /** The time it speaks of, in days since 1970, the first included and the last not; both 0 if it speaks of none. */
  firstDays = new Int32Array(FIRST_SIZE)
  lastDays = new Int32Array(FIRST_SIZE)
  /** The turns right before and after in the session, or -1. */
  before = new Int32Array(FIRST_SIZE)
  after = new Int32Array(FIRST_SIZE)

  /** By term: its newest posting and how many memories have it. */
  #terms = new Map<string, number>()
  #newest = new Int32Array(FIRST_SIZE)
  #turnsHaving = new Int32Array(FIRST_SIZE)
  #notesHaving = new Int32Array(FIRST_SIZE)

  /** By posting: the memory, how often it has the term, and the next older posting of the same term, or -1. */
  #postings = 0
  postingMemory = new Int32Array(FIRST_SIZE)
  postingFrequency = new Uint16Array(FIRST_SIZE)
  postingOlder = new Int32Array(FIRST_SIZE)

  /** What the memories mean, as long as they are few enough to be compared one by one. */
  meanings: Meanings | undefined

  #speakers = new Map<string, number>()
  #lastOf = new Map<string, number>()
  #count = { turn: 0, note: 0 }
  #length = { turn: 0, note: 0 }

  constructor(words?: WordVectors) {
    this.meanings = words && new Meanings(words)
  }

  append(row: Row): void {
    const { seq, kind, role, created_at, length } = row
    const terms = row.terms.split(' ')
    const collection = collectionOf(kind)
    const memory = this.#newMemory()
    this.seqs[memory] = seq
    this.times[memory] = created_at
    this.lengths[memory] = length
    this.notes[memory] = collection === 'note' ? 1 : 0
    this.#count[collection] += 1
    this.#length[collection] += length

    const name = terms.filter((term) => term.startsWith(SPEAKER_MARK))
    this.speakers[memory] = name.length === 0 ? NONE : this.#speakerOf(name.join(' '))
    for (const term of terms) this.#post(term, memory, collection)
    this.roles[memory] = roleNumber(role)
    if (hasTimeWord(terms)) {
      this.timely[memory] = 1
      const mentioned = timeMentioned(terms, created_at)
      this.firstDays[memory] = (mentioned?.from ?? 0) / DAY
      this.lastDays[memory] = (mentioned?.to ?? 0) / DAY
    }
    if (this.size > COMPARED) this.meanings = undefined
    this.meanings?.append(terms.slice(2 * name.length))
    this.before[memory] = NONE
    this.after[memory] = NONE
    if (collection === 'turn') this.#link(memory, conversationOf(row))
  }

  /** About as much memory as it takes. */
  get bytes(): number {
    const byMemory = this.seqs.length * BYTES_BY_MEMORY
    const byTerm = this.#newest.length * BYTES_BY_TERM
    const byPosting = this.postingMemory.length * BYTES_BY_POSTING
    const byConversation = this.#lastOf.size * BYTES_BY_CONVERSATION
    return byMemory + byTerm + byPosting + byConversation + (this.meanings?.bytes ?? 0)
  }

  /** The latest turns of a conversation as their seqs, the latest first. */
  latestTurns(conversation: Pick<Row, 'user_id' | 'session_id'>, limit: number): number[] {
    const found: number[] = []
    let turn = this.#lastOf.get(conversationOf({ ...conversation, created_at: 0 })) ?? NONE
    for (; turn !== NONE && found.length < limit; turn = this.before[turn] as number)
      found.push(this.seqs[turn] as number)
    return found
  }

  /** The newest posting of a term, or -1. */
  newest(term: string): number {
    const id = this.#terms.get(term)
    return id === undefined ? NONE : (this.#newest[id] as number)
  }

  /** What a question must know; exact if all memories of the scope were appended. */
  statistics(question: Question): ScopeStatistics {
    const terms = countedTerms(question)
    const having = (counts: Int32Array) =>
      new Map(terms.map((term) => [term, counts[this.#terms.get(term) ?? counts.length] ?? 0]))
    return {
      turn: { count: this.#count.turn, length: this.#length.turn, having: having(this.#turnsHaving) },
      note: { count: this.#count.note, length: this.#length.note, having: having(this.#notesHaving) },
      said: question.window ? this.#countSaid(question.window) : 0,
    }
  }

  #countSaid({ from, to }: Window): number {
    let count = 0
    for (let memory = 0; memory < this.size; memory++) {
      const time = this.times[memory] as number
      if (time >= from && time < to) count += 1
    }
    return count
  }

  /** Those whose names have most of these marked terms. */
  speakersNamed(names: readonly string[]): number[] {
    const matches = [...this.#speakers].map(([name, speaker]) => {
      return { speaker, count: name.split(' ').filter((term) => names.includes(term)).length }
    })
    const most = Math.max(1, ...matches.map(({ count }) => count))
    return matches.filter(({ count }) => count === most).map(({ speaker }) => speaker)
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

  #post(term: string, memory: number, collection: Collection): void {
    const id = this.#idOf(term)
    const newest = this.#newest[id] as number
    if (newest !== NONE && this.postingMemory[newest] === memory) {
      this.postingFrequency[newest] = (this.postingFrequency[newest] as number) + 1
      return
    }
    if (this.#postings === this.postingMemory.length) {
      this.postingMemory = grown(this.postingMemory)
      this.postingFrequency = grown(this.postingFrequency)
      this.postingOlder = grown(this.postingOlder)
    }
    const posting = this.#postings++
    this.postingMemory[posting] = memory
    this.postingFrequency[posting] = 1
    this.postingOlder[posting] = newest
    this.#newest[id] = posting
    const having = collection === 'turn' ? this.#turnsHaving : this.#notesHaving
    having[id] = (having[id] as number) + 1
  }

  #idOf(term: string): number {
    const known = this.#terms.get(term)
    if (known !== undefined) return known
    const id = this.#terms.size
    if (id === this.#newest.length) {
      this.#newest = grown(this.#newest)
      this.#turnsHaving = grown(this.#turnsHaving)
      this.#notesHaving = grown(this.#notesHaving)
    }
    this.#terms.set(term, id)
    this.#newest[id] = NONE
    return id
  }

  #speakerOf(name: string): number {
    const known = this.#speakers.get(name)
    if (known !== undefined) return known
    this.#speakers.set(name, this.#speakers.size)
    return this.#speakers.size - 1
  }

  /** Turns come in the order they were said, as a rule: the place of one that does not is looked for from the end. */
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

/** What a turn shares with its neighbours. Without a session only an exchange belongs together: its turns share their time. */
function conversationOf({
  user_id,
  session_id,
  created_at,
}: Pick<Row, 'user_id' | 'session_id' | 'created_at'>): string {
  return JSON.stringify([user_id, session_id, session_id === '' ? created_at : 0])
}

/** The same values with room for as many again. */
function grown<Values extends Float64Array | Int32Array | Uint16Array | Uint8Array>(values: Values): Values {
  const larger = new (values.constructor as new (length: number) => Values)(values.length * 2)
  larger.set(values)
  return larger
}
