import { bytesOf } from './base64.ts'
import { problem } from './problem.ts'
import { pause } from './request.ts'
import { verifyWebhook, WebhookVerificationError } from './webhook.ts'

/** `data` is base64. A file that is too large to be included has a `url` instead; a deleted file has neither. */
export type AttachedFile = {
  file_id: string
  name: string
  media_type: string
  size: number
  data: string | null
  url: string | null
}

/** The run's data, as the service sends it. docs/remote-protocol.md describes each field. */
export type RemoteCall = {
  request_id: string
  attempt: number
  message: string
  context: { user_id?: string; session_id?: string; [key: string]: unknown }
  history: { role: 'user' | 'assistant'; content: string }[]
  summary: string | null
  recalled: { content: string; role: 'user' | 'assistant' | null; created_at: string }[]
  attachments: AttachedFile[]
  instructions: string | null
  model: string | string[]
  temperature: number | null
  output: { schema: Record<string, unknown> } | null
  unfit: { answer: string; problem: string } | null
  tools: { name: string; description: string; input_schema: Record<string, unknown> }[]
  deadline: string
}

type StepResult = { id: string; result?: unknown; error?: string }
type CallBody = RemoteCall & { steps: StepResult[]; said: string; steps_url: string; steps_token: string }

export type ModelQuestion = {
  message: string
  model?: string
  instructions?: string
  history?: { role: 'user' | 'assistant'; content: string }[]
  temperature?: number
  max_output_tokens?: number
  output?: { schema: Record<string, unknown> }
}

export type NotedMemory = {
  id: string
  content: string
  kind: string
  role: string | null
  score: number
  created_at: string
}

/**
 * A run as the agent sees it. Each step has an ID that is unique in the run. When the agent is called again, after a
 * crash or a long wait, a completed step returns its stored result and isn't repeated.
 */
export type AgentRun = RemoteCall & {
  /** Aborted when the service ends the call: the run was cancelled, is waiting, or has timed out. */
  signal: AbortSignal
  /** Sends a chunk of the answer. */
  say(text: string): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
  /** Reports usage of models that the agent called on its own. */
  usage(spent: { model?: string; input_tokens: number; output_tokens: number }): void
  /** Returns an attachment's bytes, and downloads them if they weren't included. Throws if the file was deleted. */
  read(file: AttachedFile): Promise<Uint8Array<ArrayBuffer>>
  /** Calls one of the agent's tools. If it fails, throws a StepError with the tool's message. */
  tool(id: string, tool: string, args?: Record<string, unknown>): Promise<string>
  /** Runs `make` once and stores its result; later calls return the stored result. */
  keep<Value>(id: string, make: () => Value | Promise<Value>): Promise<Value>
  /** Continues after some seconds, or at a certain time, which can be far away. The process doesn't have to wait. */
  sleep(id: string, until: number | Date): Promise<void>
  askPerson(id: string, question: string, options?: string[]): Promise<string>
  /** Calls a model by its name in the service. Returns the answer as text, or as a value if `output` has a schema. */
  askModel<Answer = string>(id: string, question: ModelQuestion): Promise<Answer>
  searchMemory(id: string, query: string, limit?: number): Promise<NotedMemory[]>
  writeMemory(id: string, content: string): Promise<{ id: string }>
}

/**
 * The agent's answer: the rest of the text, a value if `output` is requested, or nothing if all of it was already sent.
 */
export type AgentAnswer = string | { output: unknown; response?: string } | undefined | void

export type AgentHandler = (run: AgentRun) => AgentAnswer | Promise<AgentAnswer>

export type ServeOptions = {
  /** The secret that signs calls (`whsec_…`), or several during a rotation. */
  secret: string | readonly string[]
  /** The `fetch` that requests steps, for example one that uses a proxy. */
  fetch?: typeof fetch
  now?: () => number
}

/** A step failed. The message says why. */
export class StepError extends Error {
  override readonly name = 'StepError'
}

/** The service has ended this call. If the run continues, the agent is called again. */
class CallOver extends Error {
  override readonly name = 'CallOver'
}

/**
 * Makes a function that answers the service's calls to an agent that runs here. It accepts a `Request`, so it works
 * wherever there are web `Request`s: Hono, Next.js, Workers, Deno and Bun. `toNodeHandler` makes a handler for
 * node:http and Express.
 */
export function serveAgent(handler: AgentHandler, options: ServeOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== 'POST') return problem(405, 'Send runs as POST requests.')
    const body = new Uint8Array(await request.arrayBuffer())
    let sent: CallBody
    try {
      const { secret, now } = options
      const checked = { body, headers: request.headers, secret, ...(now && { now }) }
      sent = (await verifyWebhook(checked)) as unknown as CallBody
    } catch (error) {
      if (error instanceof WebhookVerificationError) return problem(401, error.message)
      return problem(400, 'The body is not valid JSON.')
    }
    const call = new OpenCall(sent, options.fetch ?? fetch)
    request.signal?.addEventListener('abort', () => call.end())
    // A signal reports its abort only once, and the service may have disconnected while the signature was checked.
    if (request.signal?.aborted) call.end()
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' }
    return new Response(call.answer(handler), { headers })
  }
}

/** How often the same steps are requested, and how long the agent waits before a retry. */
const MOST_TRIES = 10
const LONGEST_PAUSE_MS = 60_000
const FIRST_PAUSE_MS = 250

/** The service can't do the steps now. */
class BusyError extends Error {
  /** The wait that the service asked for, if any. */
  readonly pauseMs: number | undefined

  constructor({ status, headers }: Response, reason: string | undefined) {
    super(`The service answered ${status}${reason === undefined ? '.' : `: ${reason}`}`)
    const seconds = Number(headers.get('retry-after') ?? Number.NaN)
    this.pauseMs = Number.isFinite(seconds) ? seconds * 1000 : undefined
  }
}

type Step = { id: string; type: string; [field: string]: unknown }
type PendingStep = { id: string; json: string; resolve(told: StepResult): void; reject(error: unknown): void }

class OpenCall {
  readonly #sent: CallBody
  readonly #fetch: typeof fetch
  readonly #known: Map<string, StepResult>
  /** Stored steps that the agent has not requested again yet. */
  readonly #unseen: Set<string>
  /** The stored part of the answer that the agent hasn't sent again yet. */
  #stored: string
  readonly #stop = new AbortController()
  #asked: PendingStep[] = []
  #write: ((event: string, data: object) => void) | undefined

  constructor(sent: CallBody, send: typeof fetch) {
    this.#sent = sent
    this.#fetch = send
    this.#known = new Map(sent.steps.map((told) => [told.id, told]))
    this.#unseen = new Set(this.#known.keys())
    this.#stored = sent.said
  }

  /** Ends the call, because the service has closed the connection. */
  end(): void {
    this.#stop.abort(new CallOver('The service has ended this call.'))
  }

  answer(handler: AgentHandler): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    return new ReadableStream({
      start: async (controller) => {
        const write = (event: string, data: object) => {
          if (this.#stop.signal.aborted) return
          controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
        }
        this.#write = write
        // Servers send the head of a reply together with its first bytes.
        controller.enqueue(encoder.encode(': called\n\n'))
        try {
          const answered = await handler(this.#run())
          const { response = '', ...rest } = typeof answered === 'object' ? answered : { response: answered ?? '' }
          if (response !== '') write('delta', { text: response })
          write('done', rest)
        } catch (error) {
          if (!this.#stop.signal.aborted)
            write('error', { message: error instanceof Error ? error.message : String(error) })
        }
        this.end()
        try {
          controller.close()
        } catch {
          // The service has disconnected.
        }
      },
      cancel: () => this.end(),
    })
  }

  #run(): AgentRun {
    const { steps: _steps, said: _said, steps_url: _url, steps_token: _token, ...told } = this.#sent
    const text = async (step: Step) => String(await this.#step(step))
    return {
      ...told,
      signal: this.#stop.signal,
      say: (words) => this.#say(words),
      log: (level, message) => this.#write?.('log', { level, message }),
      usage: (spent) => this.#write?.('usage', spent),
      read: (file) => this.#read(file),
      tool: (id, tool, args = {}) => text({ id, type: 'tool', tool, arguments: args }),
      keep: async <Value>(id: string, make: () => Value | Promise<Value>) => {
        if (this.#known.has(id)) return (await this.#step({ id, type: 'keep' })) as Value
        // The service has disconnected and will call again. A value made now couldn't be stored.
        this.#stop.signal.throwIfAborted()
        const value = await make()
        return (await this.#step({ id, type: 'keep', value: value ?? null })) as Value
      },
      sleep: async (id, until) => {
        const when = typeof until === 'number' ? { seconds: until } : { until: until.toISOString() }
        await this.#step({ id, type: 'sleep', ...when })
      },
      askPerson: (id, question, options) => text({ id, type: 'ask_person', question, ...(options && { options }) }),
      askModel: async <Answer>(id: string, question: ModelQuestion) =>
        (await this.#step({ id, type: 'model', ...question })) as Answer,
      searchMemory: async (id, query, limit) =>
        (await this.#step({
          id,
          type: 'memory_search',
          query,
          ...(limit !== undefined && { limit }),
        })) as NotedMemory[],
      writeMemory: async (id, content) => (await this.#step({ id, type: 'memory_write', content })) as { id: string },
    }
  }

  async #read({ file_id, data, url }: AttachedFile): Promise<Uint8Array<ArrayBuffer>> {
    if (data !== null) return bytesOf(data)
    if (!url) throw new Error(`The file ${file_id} no longer exists.`)
    const headers = { authorization: `Bearer ${this.#sent.steps_token}` }
    const response = await this.#fetch(url, { headers, signal: this.#stop.signal })
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (!response.ok) throw new Error(`The file ${file_id} could not be read: the service answered ${response.status}.`)
    return bytes
  }

  /**
   * Sends text, except for the part that is already stored. Text can reach the service after the step that follows it,
   * so a part of the text before a stored step can be missing. If the agent now says something different before such a
   * step, it is ignored.
   */
  #say(words: string): void {
    const stored = this.#stored
    if (stored.startsWith(words)) {
      this.#stored = stored.slice(words.length)
      return
    }
    if (!words.startsWith(stored) && this.#unseen.size > 0) return
    this.#stored = ''
    this.#write?.('delta', { text: words.startsWith(stored) ? words.slice(stored.length) : words })
  }

  async #step(step: Step): Promise<unknown> {
    this.#stop.signal.throwIfAborted()
    const told = this.#known.get(step.id) ?? (await this.#ask(step))
    this.#unseen.delete(step.id)
    if (told.error !== undefined) throw new StepError(told.error)
    return told.result
  }

  /** Steps that are requested at the same moment are sent together and done in parallel. */
  #ask(step: Step): Promise<StepResult> {
    // A step that can't be written as JSON fails here, so it doesn't affect steps that are requested with it.
    const [id, json] = [step.id, JSON.stringify(step)]
    if (this.#asked.length === 0) queueMicrotask(() => void this.#send())
    return new Promise((resolve, reject) => this.#asked.push({ id, json, resolve, reject }))
  }

  async #send(): Promise<void> {
    const asked = this.#asked
    this.#asked = []
    try {
      const body = `{"steps":[${asked.map(({ json }) => json).join(',')}]}`
      for (const told of await this.#post(body)) this.#known.set(told.id, told)
      for (const { id, resolve, reject } of asked) {
        const told = this.#known.get(id)
        if (told) resolve(told)
        else reject(new StepError(`The service did not return the result of the step ${id}.`))
      }
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  /**
   * Requests steps until they are done. A step is done only once even if it is requested again, so a lost reply or a
   * temporary problem of the service isn't a failure.
   */
  async #post(body: string): Promise<StepResult[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#postOnce(body)
      } catch (error) {
        if (error instanceof StepError || this.#stop.signal.aborted || tries === MOST_TRIES) throw error
        const asked = error instanceof BusyError ? error.pauseMs : undefined
        const pauseMs = asked ?? FIRST_PAUSE_MS * 2 ** (tries - 1)
        if (pauseMs > LONGEST_PAUSE_MS) throw error
        await pause(pauseMs, this.#stop.signal)
      }
    }
  }

  /** Throws a StepError if the service refuses the steps. */
  async #postOnce(body: string): Promise<StepResult[]> {
    const { steps_url, steps_token } = this.#sent
    const headers = { authorization: `Bearer ${steps_token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body, signal: this.#stop.signal }
    const response = await this.#fetch(steps_url, init)
    if (!response.ok && response.status !== 409) throw await refusalOf(response)
    const { data } = response.ok ? ((await response.json()) as { data?: StepsData }) : {}
    if (data?.status === 'done') return data.steps
    if (!response.ok) await response.body?.cancel()
    this.end()
    throw this.#stop.signal.reason
  }
}

type StepsData = { status: string; steps: StepResult[] }

/** Why the service refused the steps. A proxy might have answered in another format. */
async function refusalOf(response: Response): Promise<Error> {
  const { status } = response
  const said = (await response.json().catch(() => null)) as { error?: { message?: string } } | null
  const reason = said?.error?.message
  if (status === 429 || status >= 500) return new BusyError(response, reason)
  return new StepError(reason ?? `The service answered ${status}.`)
}
