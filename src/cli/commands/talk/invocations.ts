import type { Command } from 'commander'
import { attemptText } from '../../../../sdk/attempts.ts'
import type { Invocation, Prompt } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { integer, takesService, yesOption } from '../../command.ts'
import { agentNames, type NameOf } from '../../connect/agent-names.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { type Column, print, printDone, printJson, printRecord, printRows, warn } from '../../terminal/output.ts'
import { progress } from '../../terminal/progress.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { speak } from './invoke.ts'

/** In a list of one agent nothing is said of agents. */
const columns = (nameOf: NameOf | undefined): Column<Invocation>[] => [
  { title: 'REQUEST', of: (invocation) => invocation.request_id },
  ...(nameOf ? [{ title: 'AGENT', of: (invocation: Invocation) => nameOf(invocation.agent_id) }] : []),
  { title: 'STATUS', of: (invocation) => invocation.status },
  { title: 'VERSION', of: (invocation) => invocation.version },
  { title: 'TOKENS', of: (invocation) => invocation.tokens_used },
  { title: 'MS', of: (invocation) => invocation.duration_ms },
  { title: 'CREATED', of: (invocation) => invocation.created_at },
  { title: 'MESSAGE', of: (invocation) => invocation.message },
]

const calledColumns = (nameOf: NameOf): Column<Invocation>[] => [
  { title: 'REQUEST', of: (invocation) => invocation.request_id },
  { title: 'AGENT', of: (invocation) => nameOf(invocation.agent_id) },
  { title: 'STATUS', of: (invocation) => invocation.status },
  { title: 'MS', of: (invocation) => invocation.duration_ms },
]

/** One that has not ended may wait for runs that it has called. */
function hasCalled({ steps, finished_at }: Invocation): boolean {
  return finished_at === null || steps.some((step) => step.kind === 'tool' && step.child)
}

type Step = Invocation['steps'][number]

const STEP_COLUMNS: Column<Step>[] = [
  { title: 'STEP', of: (step) => step.kind },
  { title: 'WHAT', of: whatOf },
  { title: 'ATTEMPT', of: (step) => step.attempt },
  { title: 'MS', of: (step) => step.duration_ms },
  { title: 'TOKENS', of: (step) => (step.kind === 'model' ? step.usage.total_tokens : '') },
]

function whatOf(step: Step): string {
  if (step.kind === 'wait') return step.reason
  if (step.kind === 'recall')
    return `found ${counted(step.turns, 'turn')}, ${counted(step.memories, 'memory', 'memories')}`
  if (step.kind === 'model' && step.unfit) return `does not fit: ${step.unfit.problems[0]?.error ?? ''}`
  if (step.kind === 'model')
    return step.characters > 0 ? `said ${counted(step.characters, 'character')}` : 'called tools'
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

const EFFECT_COLUMNS: Column<{ kind: string; id: string; what: string }>[] = [
  { title: 'LEFT', of: ({ kind }) => kind },
  { title: 'ID', of: ({ id }) => id },
  { title: 'WHAT', of: ({ what }) => what },
]

type ListOptions = Common &
  Limit & {
    status?: Invocation['status']
    door?: Invocation['door']
    user?: string
    session?: string
    schedule?: string
  }

export function invocations(command: Command, world: World): void {
  takesService(command.command('list'))
    .alias('ls')
    .description('List invocations, the newest first; without an agent those of all')
    .argument('[agent]', 'id or name')
    .addOption(limitOption(20))
    .option('--status <status>', 'queued, running, waiting, completed, failed or cancelled')
    .option('--door <door>', 'api, openai, mcp, a2a, cli or schedule')
    .option('--user <user_id>', 'of this user')
    .option('--session <session_id>', 'of this session')
    .option('--schedule <schedule_id>', 'that this schedule began')
    .action(async (agent: string | undefined, options: ListOptions) => {
      const { status, door, user, session, schedule } = options
      const query = { status, door, user_id: user, session_id: session }
      if (agent === undefined && schedule !== undefined) throw usage('Say whose schedule it is: name the agent')
      await withClient(world, options, async (client) => {
        const found = await gather(world, options, (limit) =>
          agent === undefined
            ? client.invocations.listAll({ ...query, limit })
            : client.invocations.list(agent, { ...query, schedule_id: schedule, limit }),
        )
        const isOfAll = agent === undefined && !options.json
        const nameOf = isOfAll
          ? await agentNames(
              client,
              found.map(({ agent_id }) => agent_id),
            )
          : undefined
        printRows(world, found, columns(nameOf), options)
      })
    })

  takesService(command.command('get'))
    .description('Show the receipt of an invocation')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .action(async (agent: string, id: string, options: Common) => {
      const { receipt, called, nameOf } = await withClient(world, options, async (client) => {
        const found = await client.invocations.get(agent, id)
        const query = { parent_request_id: id, limit: 100, sort: 'created_at' as const }
        const runs = hasCalled(found) && !options.json ? (await client.invocations.listAll(query)).data : []
        const names = await agentNames(
          client,
          runs.map(({ agent_id }) => agent_id),
        )
        return { receipt: found, called: runs, nameOf: names }
      })
      if (options.json) return printJson(world, receipt)
      const { steps, attempts, ...record } = receipt
      printRecord(world, record, options)
      if (steps.length > 0) {
        print(world, '')
        printRows(world, steps, STEP_COLUMNS, options)
      }
      const reasons = attempts.flatMap((attempt) => attemptText(receipt, attempt) ?? [])
      if (reasons.length > 0) print(world, `\n${reasons.join('\n')}`)
      if (called.length > 0) {
        print(world, '\nRuns that it has called:')
        printRows(world, called, calledColumns(nameOf), options)
      }
    })

  takesService(command.command('follow'))
    .description('Print what an invocation says until it ends')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .action(async (agent: string, id: string, options: Common) => {
      await withClient(world, options, async (client) => {
        if (!options.json) return void (await speak(world, client.invocations.follow(agent, id)))
        for await (const event of client.invocations.follow(agent, id)) print(world, JSON.stringify(event))
      })
    })

  takesService(command.command('prompt'))
    .description('Show what the model was shown: instructions, history, memories, the message, files')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .option(
      '--step <position>',
      'of a model step in the receipt; without it, the last time the model answered',
      integer,
    )
    .action(async (agent: string, id: string, { step, ...options }: Common & { step?: number }) => {
      const query = step === undefined ? {} : { step }
      const prompt = await withClient(world, options, (client) => client.invocations.prompt(agent, id, query))
      if (options.json) return printJson(world, prompt)
      print(world, prompt.messages.map(messageText).join('\n\n'))
      for (const note of prompt.notes) warn(world, note)
    })

  takesService(command.command('effects'))
    .description('Show what an invocation left elsewhere: memories, and deliveries of its event')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .action(async (agent: string, id: string, options: Common) => {
      const effects = await withClient(world, options, (client) => client.invocations.effects(agent, id))
      if (options.json) return printJson(world, effects)
      const rows = [
        ...effects.memories.map((memory) => ({ kind: 'memory', id: memory.id, what: memory.content })),
        ...effects.deliveries.map(({ id: delivery, webhook_id, status }) => ({
          kind: 'delivery',
          id: delivery,
          what: `${status} to ${webhook_id}`,
        })),
      ]
      printRows(world, rows, EFFECT_COLUMNS, options)
    })

  takesService(command.command('cancel'))
    .description('Cancel an invocation; answers once it has really stopped')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .action(async (agent: string, id: string, options: Common) => {
      const receipt = await withClient(world, options, (client) =>
        progress(world, 'Waiting for it to stop', () => client.invocations.cancel(agent, id, options)),
      )
      printDone(world, receipt, options, `Cancelled ${id}`)
    })

  takesService(command.command('erase'))
    .description('Remove what was said in an invocation; its receipt stays without words')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .addOption(yesOption())
    .action(async (agent: string, id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Erase what was said in ${id}? This cannot be undone.`, options)
      const receipt = await withClient(world, options, (client) => client.invocations.erase(agent, id, options))
      printDone(world, receipt, options, `Erased what was said in ${id}`)
    })
}
