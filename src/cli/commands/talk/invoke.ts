import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { Client, InvocationEvent, InvocationResult } from '../../../../sdk/client.ts'
import { isObject } from '../../../lib/json.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { parseJson, readFile, readMessage } from '../../terminal/input.ts'
import { note, print, printJson, shown } from '../../terminal/output.ts'
import { progress } from '../../terminal/progress.ts'
import type { World } from '../../world.ts'
import { attachables, attachOption } from './files.ts'
import { endWaiting, tellWaiting, type WaitingEvent } from './waiting.ts'

export type TalkOptions = Common & { user?: string; session?: string; environment?: string; context?: string }

type InvokeOptions = TalkOptions & {
  stream?: boolean
  background?: boolean
  onBudget?: OnBudget
  priority?: RunPriority
  idempotencyKey?: string
  output?: boolean
  schema?: string
  attach?: string[]
}

export function invoke(command: Command, world: World): void {
  takesTalk(takesService(command))
    .argument('<agent>', 'ID or name')
    .argument('[message...]', 'the message; read from stdin if not given')
    .option('--stream', 'print the answer as it arrives, even to a file or pipe')
    .option('--no-stream', 'wait for the whole answer')
    .option('--background', 'print the request ID, without waiting for the answer')
    .addOption(onBudgetOption('with --background, if the budget is used up'))
    .addOption(priorityOption())
    .addOption(attachOption())
    .option('--idempotency-key <key>', 'makes your own retries safe')
    .option('--output', 'print only the structured output, as JSON')
    .option('--schema <schema>', 'JSON Schema of the answer: a file, or JSON; implies --output')
    .action(async (agent: string, words: string[], options: InvokeOptions) => {
      const { onBudget: on_budget, priority, schema } = options
      const body = {
        ...bodyOf(options),
        ...(on_budget && { on_budget }),
        ...(priority && { priority }),
        ...(schema !== undefined && { output: { schema: readSchema(world, schema) } }),
        attachments: await attachables(world, options.attach),
        message: await readMessage(world, words),
      }
      const request = { otp: options.otp, idempotencyKey: options.idempotencyKey }
      await withClient(world, options, async (client) => {
        if (options.background) {
          const queued = await client.agents.start(agent, body, request)
          return options.json ? printJson(world, queued) : print(world, queued.request_id)
        }
        // The answer is streamed even if it is printed as a whole, because it then survives a restart of the service,
        // and Ctrl-C ends the run.
        const events = client.agents.stream(agent, body, request)
        const wantsValue = options.output || schema !== undefined
        const last =
          options.stream !== false && !options.json && !wantsValue
            ? await speak(world, events, options)
            : printLast(world, await progress(world, `${agent} is thinking`, () => lastOf(events)), options)
        if (last) throw await endWaiting(world, client, { agent, waiting: last, options })
      })
    })
}

/** Reads a schema. JSON begins with a brace, and file names don't. */
function readSchema(world: World, given: string): Record<string, unknown> {
  const text = given.trimStart().startsWith('{') ? given : readFile(resolve(world.cwd, given))
  const schema = parseJson(text, 'The schema')
  if (!isObject(schema)) throw usage('The schema must be an object')
  return schema
}

function printLast(world: World, last: LastEvent, options: InvokeOptions): WaitingEvent | undefined {
  const { json, output, schema } = options
  if (last.type === 'waiting') {
    if (json) printJson(world, last)
    else tellWaiting(world, last)
    return last
  }
  if (json) {
    printJson(world, last.data)
  } else if (output || schema !== undefined) {
    if (last.data.output === undefined)
      throw new Failure(EXIT.failed, 'The answer contains no structured output.', NO_VALUE)
    printJson(world, last.data.output)
  } else {
    print(world, last.data.response)
    summarise(world, last.data)
  }
  return undefined
}

const NO_VALUE = '  The agent answers with text. Set `output` on the agent, or use --schema.'

export function takesTalk(command: Command): Command {
  return command
    .option('--user <user_id>', 'the user whose memory is used')
    .option('--session <session_id>', 'the conversation that this belongs to')
    .option('-e, --environment <name>', 'the environment that answers (default: production)')
    .option('--context <json>', 'additional context for the agent, as a JSON object')
}

type OnBudget = NonNullable<Parameters<Client['agents']['invoke']>[1]['on_budget']>

export function onBudgetOption(when: string): Option {
  return new Option('--on-budget <what>', `${when}: fail or wait (default: fail)`).choices(['fail', 'wait'])
}

type RunPriority = NonNullable<Parameters<Client['agents']['invoke']>[1]['priority']>

function priorityOption(): Option {
  const when = 'with --background: which runs of the agent start first'
  return new Option('--priority <priority>', `${when}: interactive, normal or batch (default: normal)`).choices([
    'interactive',
    'normal',
    'batch',
  ])
}

type InvokeBody = Omit<Parameters<Client['agents']['invoke']>[1], 'message'>

export function bodyOf({ user, session, environment, context = '{}' }: TalkOptions): InvokeBody {
  const given = parseJson(context, 'The context')
  if (!isObject(given)) throw usage('The context must be an object')
  return {
    context: {
      ...given,
      ...(user !== undefined && { user_id: user }),
      ...(session !== undefined && { session_id: session }),
    },
    ...(environment !== undefined && { environment }),
  }
}

type Event = InvocationEvent<InvocationResult>
type LastEvent = Extract<Event, { type: 'done' | 'waiting' }>

async function lastOf(events: ReturnType<Client['agents']['stream']>): Promise<LastEvent> {
  for await (const event of events) if (event.type === 'done' || event.type === 'waiting') return event
  throw new Failure(EXIT.failed, 'The stream ended before the answer was complete.')
}

/**
 * Prints the answer on stdout, and what the agent does on stderr. On a terminal, the answer is printed as it arrives.
 * After a restart of the service the answer starts over, which a program that reads a pipe couldn't see, so a program
 * gets only the complete answer. Returns the last event if the run waits.
 */
export async function speak(
  world: World,
  events: ReturnType<Client['agents']['stream']>,
  { json, stream }: { json?: boolean; stream?: boolean } = {},
): Promise<WaitingEvent | undefined> {
  let last: Event | undefined
  const isTerminal = world.stdout.isTTY === true
  const isLive = stream ?? isTerminal
  let isSaid = false
  for await (const event of events) {
    last = event
    if (json) {
      if (event.type === 'done') print(world, JSON.stringify(event.data))
      continue
    }
    if (event.type === 'restart' && isSaid) {
      if (!isTerminal)
        throw new Failure(EXIT.failed, TAKEN_BACK, '  Without --stream, only the complete answer is printed.')
      note(world, '\n(The service was interrupted. The answer starts again.)', 'dim')
    }
    if (event.type === 'delta' && isLive) {
      world.stdout.write(shown(world, 'stdout', event.text))
      isSaid = true
    }
    if (event.type === 'queued')
      note(world, `Waiting for another run of this session (position ${event.position})`, 'dim')
    if (event.type === 'tool_call') note(world, `→ ${event.name} ${JSON.stringify(event.arguments)}`, 'dim')
    if (event.type === 'tool_result')
      note(world, `← ${event.name} ${event.error ?? event.result ?? ''}`.slice(0, 200), 'dim')
    if (event.type === 'waiting') tellWaiting(world, event)
    if (event.type === 'done') {
      print(world, isLive ? '\n' : event.data.response)
      summarise(world, event.data)
    }
  }
  return last?.type === 'waiting' ? last : undefined
}

const TAKEN_BACK =
  'The service was interrupted, and the answer started again. The output above is not the whole answer.'

function summarise(world: World, { request_id, tokens_used, duration_ms }: InvocationResult): void {
  note(world, `${request_id} · ${tokens_used} tokens · ${duration_ms} ms`, 'dim')
}
