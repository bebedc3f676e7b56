import type { Command } from 'commander'
import { attemptText } from '../../../../sdk/attempts.ts'
import type { Client, Invocation, Prompt } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import type { CommandInput, CommandSpecs } from '../../from-operations/command-spec.ts'
import { type Columns, printTable } from '../../from-operations/item-table.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { type Column, print, printRecord, printRows, warn } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { speak } from './invoke.ts'

const CALLED: Columns<Invocation> = {
  of: ['request_id', 'agent_id', 'status', ['MS', ({ duration_ms }) => duration_ms]],
}

/** Whether the run has called others. An active run may be waiting for them. */
function hasCalled({ steps, finished_at }: Invocation): boolean {
  return finished_at === null || steps.some((step) => step.kind === 'tool' && step.child)
}

type Step = Invocation['steps'][number]

const STEP_COLUMNS: Column<Step>[] = [
  ['STEP', (step) => step.kind],
  ['WHAT', whatOf],
  'attempt',
  ['MS', (step) => step.duration_ms],
  ['TOKENS', (step) => (step.kind === 'model' ? step.usage.total_tokens : '')],
]

function whatOf(step: Step): string {
  if (step.kind === 'wait') return step.reason
  if (step.kind === 'recall')
    return `found ${counted(step.turns, 'turn')}, ${counted(step.memories, 'memory', 'memories')}`
  if (step.kind === 'model' && step.unfit) return `invalid: ${step.unfit.problems[0]?.error ?? ''}`
  if (step.kind === 'model')
    return step.characters > 0 ? `answered ${counted(step.characters, 'character')}` : 'called tools'
  if (step.kind === 'approval')
    return `${step.name}: ${step.decision}${step.by === null ? '' : ` by ${step.by_name ?? step.by}`}`
  const name = step.child ? `${step.name} → ${step.child.agent}` : step.name
  return step.error === undefined ? name : `${name}: ${step.error}`
}

function messageText({ role, name, content, characters, ...more }: Prompt['messages'][number]): string {
  const { calls = [], attachments = [], files = [] } = more
  const cut = characters > content.length ? ` [… ${characters} characters]` : ''
  const called = calls.map((call) => `→ ${call.name} ${JSON.stringify(call.arguments)}`)
  const shown = [...attachments, ...files].map(fileText)
  const said = content === '' ? [] : [content + cut]
  return [`[${name ? `${role} ${name}` : role}]`, ...said, ...called, ...shown].join('\n')
}

type PromptFile = NonNullable<Prompt['messages'][number]['files']>[number]

function fileText(file: PromptFile & { shown_as?: string | null; note?: string | null }): string {
  const { file_id, name, media_type, size, shown_as, note } = file
  const how = shown_as ? ` · shown as ${shown_as === 'omitted' ? 'its name' : shown_as}` : ''
  return `+ ${name} (${media_type}, ${size} bytes, ${file_id})${how}${note ? `: ${note}` : ''}`
}

const EFFECT_COLUMNS: Column<{ kind: string; id: string; what: string }>[] = ['kind', 'id', 'what']

const SPECS: CommandSpecs = {
  listInvocations: {
    about: "List one agent's invocations, or those of all agents, most recent first",
    params: { agent_id: '[agent] ID or name' },
    limit: 20,
    options: {
      door: 'how the request came in',
      user_id: 'only of this user',
      session_id: 'only of this session',
      schedule_id: 'only runs that this schedule started',
    },
    read({ params, query }) {
      if (params['agent_id'] === undefined && query['schedule_id'] !== undefined) {
        throw usage("Specify the schedule's agent: moorage invocations list <agent> --schedule <schedule_id>")
      }
    },
    load: (client, { params: { agent_id }, query }, page) =>
      agent_id === undefined
        ? client.invocations.listAll({ ...query, ...page })
        : client.invocations.list(agent_id, { ...query, ...page }),
    columns: ({ params }) => ({
      of: [
        'request_id',
        // In a list of one agent's invocations, the agent's name isn't repeated.
        ...(params['agent_id'] === undefined ? (['agent_id'] as const) : []),
        'status',
        'version',
        ['TOKENS', ({ tokens_used }) => tokens_used],
        ['MS', ({ duration_ms }) => duration_ms],
        'created_at',
        'message',
      ],
    }),
  },
  listAllInvocations: false,
  getInvocation: { about: "Show an invocation's receipt", show: showReceipt },
  streamInvocation: false,
  getPrompt: {
    about: 'Show what the model saw: instructions, history, memories, the message, files',
    show(world, { messages, notes }) {
      print(world, messages.map(messageText).join('\n\n'))
      for (const note of notes) warn(world, note)
    },
  },
  getEffects: {
    about: 'Show the memories and webhook deliveries an invocation created',
    show(world, { memories, deliveries }) {
      const rows = [
        ...memories.map(({ id, content }) => ({ kind: 'memory', id, what: content })),
        ...deliveries.map(({ id, webhook_id, status }) => ({
          kind: 'delivery',
          id,
          what: `${status} to ${webhook_id}`,
        })),
      ]
      printRows(world, rows, EFFECT_COLUMNS)
    },
  },
  cancelInvocation: {
    about: 'Cancel an invocation and wait until it has stopped',
    waiting: 'Waiting for the invocation to stop',
    done: 'Cancelled {}',
  },
  eraseInvocation: {
    about: "Erase an invocation's message and answer. The receipt is kept",
    confirm: "Erase the message and answer of {}? This can't be undone.",
    done: 'Erased the message and answer of {}',
  },
}

export const invocations = serviceCommands('invocations', SPECS, addFollow)

function addFollow(command: Command, world: World): void {
  takesService(command.command('follow'))
    .description("Stream an invocation's answer until it ends")
    .argument('<agent>', 'ID or name')
    .argument('<request_id>')
    .action(async (agent: string, id: string, options: Common) => {
      await withClient(world, options, async (client) => {
        if (!options.json) return void (await speak(world, client.invocations.follow(agent, id)))
        for await (const event of client.invocations.follow(agent, id)) print(world, JSON.stringify(event))
      })
    })
}

async function showReceipt(world: World, receipt: Invocation, _asked: CommandInput, client: Client): Promise<void> {
  const query = { parent_request_id: receipt.request_id, limit: 100, sort: 'created_at' as const }
  const called = hasCalled(receipt) ? (await client.invocations.listAll(query)).data : []
  const { steps, attempts, queue, ...record } = receipt
  printRecord(world, { ...record, ...(queue && { queue: queue.message }) })
  if (steps.length > 0) {
    print(world, '')
    printRows(world, steps, STEP_COLUMNS)
  }
  const reasons = attempts.flatMap((attempt) => attemptText(receipt, attempt) ?? [])
  if (reasons.length > 0) print(world, `\n${reasons.join('\n')}`)
  if (called.length === 0) return
  print(world, '\nRuns it started:')
  await printTable(world, client, called, CALLED)
}

export const feedback = serviceCommands('feedback', {
  giveFeedback: {
    about: "Rate an invocation's answer, replacing an earlier rating",
    options: {
      score: 'from -1 (bad) to 1 (good)',
      comment: 'why the answer is good or bad',
    },
    more: (command) => command.option('--good', 'short for --score 1').option('--bad', 'short for --score -1'),
    read({ body, options }) {
      if (options['good']) body['score'] = 1
      if (options['bad']) body['score'] = -1
    },
    done: ({ request_id, key, score }) => `Rated ${request_id}: ${key} is ${score}`,
  },
  getFeedback: {
    about: 'Show the feedback of an invocation',
    columns: { of: ['key', 'score', 'comment', 'created_by', 'updated_at'] },
  },
  listFeedback: {
    about: 'List feedback, most recent first',
    limit: 20,
    columns: { of: ['score', 'comment', 'key', 'agent_id', 'version', 'request_id', 'created_at'] },
  },
  deleteFeedback: {
    about: 'Delete feedback, with its score',
    confirm: 'Delete the feedback of {}?',
    done: ({ request_id, key }) => `Deleted the feedback "${key}" of ${request_id}`,
  },
})
