import { UnsupportedOperationError } from '@a2a-js/sdk/errors'
import { ApiError } from '../../../errors.ts'
import { type AskedSignIn, signInWords } from '../../../runtime/approvals/sign-in-words.ts'
import type { OperationCalls } from '../operation-calls.ts'

/** What a run asks people before it continues. */
export type OpenQuestion = AskedSignIn & {
  call_id: string
  kind: 'tool' | 'question' | 'retry' | 'connection'
  arguments: { question?: unknown }
  created_at: string
}

/** Shown to the client, which must make sure that a person decides. */
const WAITS = 'Waiting for a person to decide'

/**
 * A task's questions. A message answers a question. Tool calls are approved with the API, where people see the
 * arguments.
 */
export class TaskQuestions {
  readonly #calls: OperationCalls

  constructor(calls: OperationCalls) {
    this.#calls = calls
  }

  /** What the task waits for, oldest first. */
  async list(request_id: string): Promise<readonly OpenQuestion[]> {
    const query = { agent_id: this.#agent_id, request_id, status: 'pending', sort: 'created_at', limit: 100 }
    return (await this.#calls.run<OpenQuestion[]>('listApprovals', { query })).data
  }

  /** What these tasks wait for, if some of them wait for a sign-in. */
  async signIns(tasks: readonly { asks_people?: boolean }[]): Promise<Map<string, OpenQuestion[]>> {
    if (!tasks.some(({ asks_people }) => asks_people)) return new Map()
    const query = { agent_id: this.#agent_id, status: 'pending', limit: 100 }
    const { data } = await this.#calls.run<(OpenQuestion & { request_id: string })[]>('listApprovals', { query })
    const asked = Map.groupBy(data, ({ request_id }) => request_id)
    return new Map([...asked].filter(([, all]) => signInWords(all) !== undefined))
  }

  /** The first question, which is the one that a message answers. */
  async first(request_id: string): Promise<OpenQuestion> {
    const asked = await this.list(request_id)
    const question = asked.find(({ kind }) => kind === 'question')
    if (!question) {
      if (signInWords(asked) !== undefined)
        throw new UnsupportedOperationError('This task continues by itself when the user has signed in.')
      throw new UnsupportedOperationError(
        'This task is waiting for a person to approve a tool call. Approve it in the console or with the API.',
      )
    }
    return question
  }

  /**
   * Whether this same request has already answered the latest question. Its reply was lost, so the client repeats it
   * with the same key.
   */
  async isAnsweredBy(request_id: string, answer: string): Promise<boolean> {
    if (!this.#calls.isKeyed) return false
    const query = { agent_id: this.#agent_id, request_id, kind: 'question', sort: '-decided_at', limit: 1 }
    const [latest] = (await this.#calls.run<OpenQuestion[]>('listApprovals', { query })).data
    if (!latest) return false
    return this.answer(request_id, latest, answer).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ApiError && (error.code === 'conflict' || error.code === 'idempotency_key_reused'))
          return false
        throw error
      },
    )
  }

  /** Answers a question. The client needs the same permissions as for answering with the API. */
  async answer(request_id: string, { call_id }: OpenQuestion, answer: string): Promise<void> {
    const params = { agent_id: this.#agent_id, request_id, call_id }
    await this.#calls.run('decideApproval', { params, body: { decision: 'approve', answer } })
  }

  get #agent_id(): string {
    return this.#calls.runner.agent?.id ?? ''
  }
}

/** The questions as the agent wrote them, or where the user has to sign in. */
export function questionsIn(asked: readonly OpenQuestion[]): string {
  const signIn = signInWords(asked)
  if (signIn !== undefined) return signIn
  const questions = asked.filter(({ kind }) => kind === 'question').map(({ arguments: { question } }) => question)
  return questions.filter((question) => typeof question === 'string').join('\n') || WAITS
}
