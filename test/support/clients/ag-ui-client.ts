import assert from 'node:assert/strict'
import { type AbstractAgent, HttpAgent } from '@ag-ui/client'
import type { Service } from '../service/service.ts'

type Said = Parameters<AbstractAgent['addMessage']>[0]
type Options = { threadId?: string; key?: string; headers?: Record<string, string>; messages?: Said[]; state?: unknown }

/** What one run of a client has brought: the events, as the client accepted them. */
export type ClientRun = { events: Record<string, unknown>[]; result: unknown; failure: Error | undefined }

/** The official client on one thread of an agent. It verifies each stream that it reads. */
export function agUiClient(service: Service, agent: string, options: Options = {}) {
  const { threadId = crypto.randomUUID(), key = service.admin, headers = {}, messages = [], state } = options
  const http = new HttpAgent({
    url: `${service.url}/v1/agents/${agent}/ag-ui`,
    headers: { Authorization: `Bearer ${key}`, ...headers },
    threadId,
    initialMessages: messages,
    initialState: state as never,
  })
  const say = (content: string) => http.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  const run = (parameters: Parameters<HttpAgent['runAgent']>[0] = {}) => running(http, parameters)
  return {
    http,
    threadId,
    say,
    run,
    ask: (content: string, parameters: Parameters<HttpAgent['runAgent']>[0] = {}) => {
      say(content)
      return run(parameters)
    },
    /** What each side said, with the names of the tools. */
    said: () => http.messages.map(({ role, ...message }) => [role, toldIn(message)]),
  }
}

function toldIn(message: { content?: unknown; toolCalls?: { function: { name: string } }[] }): unknown {
  return message.toolCalls ? message.toolCalls.map((call) => call.function.name) : message.content
}

async function running(http: HttpAgent, parameters: Parameters<HttpAgent['runAgent']>[0]): Promise<ClientRun> {
  const events: Record<string, unknown>[] = []
  let failure: Error | undefined
  const isQuiet = quietly()
  const result = await http
    .runAgent(parameters, { onEvent: ({ event }) => void events.push({ ...event }) })
    .then(
      (run) => run.result as unknown,
      (error: Error) => {
        failure = error
      },
    )
    .finally(isQuiet)
  return { events, result, failure }
}

/** The client prints what it doesn't understand, which must not happen, and its failures, which tests look at. */
function quietly(): () => void {
  const { warn, error } = console
  const warnings: unknown[][] = []
  console.warn = (...words) => warnings.push(words)
  console.error = () => {}
  return () => {
    Object.assign(console, { warn, error })
    assert.deepEqual(warnings, [])
  }
}

export const typesOf = ({ events }: Pick<ClientRun, 'events'>) => events.map(({ type }) => type)
