import {
  type Artifact,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from '@a2a-js/sdk'
import { storable } from '../../../lib/text/text.ts'
import { MAX_RESPONSE_CHARACTERS } from '../../conversation/ask-model.ts'
import { AgentFailure } from '../../outcome.ts'
import { NotAnAnswer } from '../../providers/protocols/read-events.ts'
import type { RemoteEvent } from '../remote-exchange.ts'

/** The state of a task: the agent works on it, has answered, or asks the sender something. */
export type TaskProgress = { kind: 'working' } | { kind: 'answered' } | { kind: 'asks'; question: string; key: string }

/** Sent between artifacts, and before an artifact that replaces earlier text. */
const BETWEEN = '\n\n'
/**
 * How often an agent can send its answer from the beginning. Each time, it is compared with what was already passed on.
 */
const MAX_BEGINNINGS = 1_000
const MAX_WORDS_CHARACTERS = 1_000

/** The agent has ended its task without an answer. */
export class TaskEnded extends AgentFailure {}

/**
 * Builds an answer from what an A2A agent sends about its task. Text is passed on as it arrives, and only once,
 * although an agent that is asked again sends all of it again.
 */
export class TaskAnswer {
  readonly #hear: (heard: RemoteEvent) => void
  readonly #wantsValue: boolean
  /** What was passed on, and how far into it the agent has come since it last started from the beginning. */
  #said: string
  #at = 0
  /** Where each artifact starts, by its ID, and the latest of them. */
  readonly #starts = new Map<string, number>()
  #latest: string | undefined
  /** The last value, and the JSON of all values. The JSON is the answer of an agent that sends no text. */
  #value: unknown
  #json = ''
  #beginnings = 0
  #lastLog = ''

  /** `said` is the part of this answer that the run has already passed on. If `wantsValue`, the answer must be JSON. */
  constructor(hear: (heard: RemoteEvent) => void, { said, wantsValue }: { said: string; wantsValue: boolean }) {
    this.#hear = hear
    this.#said = said
    this.#wantsValue = wantsValue
  }

  /** Throws an AgentFailure if the agent has given up the task. */
  take({ payload }: StreamResponse): TaskProgress {
    switch (payload?.$case) {
      case 'message':
        this.#restart()
        this.#add('message', payload.value.parts, '\n')
        return { kind: 'answered' }
      case 'task':
        return this.#takeTask(payload.value)
      case 'artifactUpdate':
        if (payload.value.artifact) this.#takeArtifact(payload.value.artifact, payload.value.append)
        return { kind: 'working' }
      case 'statusUpdate':
        return this.#standing(payload.value.status)
      case undefined:
        throw new NotAnAnswer('neither a message nor a task')
    }
  }

  /** Completes the answer. */
  end(): void {
    const value = this.#value
    if (value !== undefined && this.#wantsValue) return this.#hear({ kind: 'done', output: { value } })
    if (this.#said === '') this.#say(this.#json)
    this.#hear({ kind: 'done' })
  }

  #takeTask({ artifacts, status }: Task): TaskProgress {
    this.#restart()
    for (const artifact of artifacts) this.#takeArtifact(artifact, false)
    return this.#standing(status)
  }

  #takeArtifact({ artifactId, parts }: Artifact, append: boolean): void {
    const isLatest = artifactId === this.#latest
    if (isLatest && !append) {
      this.#countBeginning()
      this.#at = this.#starts.get(artifactId) ?? 0
    }
    if (!isLatest) this.#starts.set(artifactId, this.#at)
    this.#latest = artifactId
    this.#add(artifactId, parts, '')
  }

  /** Adds parts to an artifact. Agents send appended text as separate parts. */
  #add(artifactId: string, parts: readonly Part[], between: string): void {
    const text = parts.flatMap((part) => this.#textOf(part)).join(between)
    if (text === '') return
    const isFirst = this.#at === (this.#starts.get(artifactId) ?? 0)
    this.#tell(isFirst && this.#at > 0 ? BETWEEN + text : text)
  }

  #textOf({ content, filename, mediaType }: Part): string[] {
    if (content?.$case === 'text') return [storable(content.value)]
    if (content?.$case === 'data') {
      this.#takeValue(content.value)
      return []
    }
    if (!content) return []
    const where = content.$case === 'url' ? content.value : `${content.value.length} bytes, not stored`
    const named = storable(`[file ${filename || 'without a name'}: ${mediaType || 'of unknown type'}, ${where}]`)
    if (!this.#wantsValue) return [named]
    this.#log(named)
    return []
  }

  #takeValue(value: unknown): void {
    this.#value = value
    // An answer that is too long isn't collected. It fails as soon as the limit is reached.
    if (this.#wantsValue || this.#json.length > MAX_RESPONSE_CHARACTERS) return
    this.#json += (this.#json && '\n') + JSON.stringify(value)
  }

  /** The agent starts to send the task from its beginning. */
  #restart(): void {
    this.#countBeginning()
    this.#at = 0
    this.#starts.clear()
    this.#latest = undefined
    this.#value = undefined
    this.#json = ''
  }

  #countBeginning(): void {
    this.#beginnings += 1
    if (this.#beginnings > MAX_BEGINNINGS) throw new NotAnAnswer('the answer was restarted too often')
  }

  /** Passes on what wasn't passed on yet. */
  #tell(text: string): void {
    const known = Math.min(text.length, Math.max(0, this.#said.length - this.#at))
    const at = this.#at
    this.#at += text.length
    if (known === 0 || this.#said.startsWith(text.slice(0, known), at)) return this.#say(text.slice(known))
    // Text that was passed on can't be taken back.
    const whole = this.#said.slice(0, at) + text
    this.#said = ''
    this.#hear({ kind: 'log', level: 'warn', message: 'The remote agent has replaced its earlier answer.' })
    this.#hear({ kind: 'text', text: BETWEEN })
    this.#say(whole)
  }

  #say(text: string): void {
    if (text === '') return
    this.#said += text
    this.#hear({ kind: 'text', text })
  }

  #standing(status: TaskStatus | undefined): TaskProgress {
    const { state = TaskState.TASK_STATE_UNSPECIFIED, message, timestamp = '' } = status ?? {}
    const words = wordsOf(message)
    switch (state) {
      case TaskState.TASK_STATE_COMPLETED:
        return this.#answeredWith(message)
      case TaskState.TASK_STATE_INPUT_REQUIRED:
        return { kind: 'asks', question: words, key: `${message?.messageId ?? ''} ${timestamp} ${words}` }
      case TaskState.TASK_STATE_FAILED:
        throw new TaskEnded(withWords('The remote agent failed', words))
      case TaskState.TASK_STATE_REJECTED:
        throw new TaskEnded(withWords('The remote agent rejected the message', words))
      case TaskState.TASK_STATE_CANCELED:
        throw new TaskEnded(withWords('The remote agent cancelled its task', words))
      case TaskState.TASK_STATE_AUTH_REQUIRED:
        throw new AgentFailure(
          withWords("The remote agent requires its caller to sign in, which this service doesn't support", words),
        )
      default:
        this.#log(words)
        return { kind: 'working' }
    }
  }

  /** Some agents put the answer into the last status instead of an artifact. */
  #answeredWith(message: Message | undefined): TaskProgress {
    if (this.#said === '' && this.#value === undefined) this.#add('status', message?.parts ?? [], '\n')
    return { kind: 'answered' }
  }

  #log(words: string): void {
    if (words === '' || words === this.#lastLog) return
    this.#lastLog = words
    this.#hear({ kind: 'log', level: 'info', message: words })
  }
}

function wordsOf(message: Message | undefined): string {
  const texts = message?.parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])) ?? []
  return storable(texts.join('\n'))
}

function withWords(what: string, words: string): string {
  return words === '' ? `${what}.` : `${what}: ${words.slice(0, MAX_WORDS_CHARACTERS)}`
}
