import type { Command } from 'commander'
import type { Approval, Client } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { takesService } from '../../command.ts'
import { agentNames, type NameOf } from '../../connect/agent-names.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { parseJson, pointInTime, readMessage, readText } from '../../terminal/input.ts'
import { type Column, printDone, printRecord, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const columnsOf = (nameOf: NameOf): Column<Approval>[] => [
  { title: 'REQUEST', of: (approval) => approval.request_id },
  { title: 'CALL', of: (approval) => approval.call_id },
  { title: 'AGENT', of: (approval) => nameOf(approval.agent_id) },
  { title: 'STATUS', of: (approval) => approval.status },
  { title: 'TOOL', of: (approval) => approval.tool },
  { title: 'EXPIRES', of: (approval) => approval.expires_at },
  { title: 'ARGUMENTS', of: (approval) => JSON.stringify(approval.arguments) },
]

type ListOptions = Common &
  Limit & { agent?: string; status: string; user?: string; session?: string; since?: string; until?: string }

/** Which call of a run is meant, if it asks about several; and its agent, which is looked up otherwise. */
type WhichOptions = Common & { call?: string; agent?: string }

export function approvals(command: Command, world: World): void {
  takesService(command.command('list'))
    .alias('ls')
    .description('List what agents ask people, the newest first')
    .option('--agent <agent>', 'of this agent')
    .option('--status <status>', 'pending, approved, rejected, expired, cancelled or all', 'pending')
    .option('--user <user_id>', 'of runs for this user')
    .option('--session <session_id>', 'of runs in this session')
    .option('--since <time>', 'asked since: 2h, or a time', pointInTime)
    .option('--until <time>', 'asked before', pointInTime)
    .addOption(limitOption(20))
    .action(async ({ agent, status, user, session, since, until, ...options }: ListOptions) => {
      const query = {
        agent_id: agent,
        status: status === 'all' ? undefined : (status as Approval['status']),
        user_id: user,
        session_id: session,
        start_time: since,
        end_time: until,
      }
      const { found, nameOf } = await withClient(world, options, async (client) => {
        const listed = await gather(world, options, (limit) => client.approvals.list({ ...query, limit }))
        return {
          found: listed,
          nameOf: await agentNames(client, options.json ? [] : listed.map((one) => one.agent_id)),
        }
      })
      printRows(world, found, columnsOf(nameOf), options)
    })

  takesCall(command.command('get').alias('show'))
    .description('Show what a run asks')
    .action(async (request_id: string, options: WhichOptions) => {
      const found = await withClient(world, options, async (client) => {
        const { agent_id, call_id } = await findCall(client, request_id, options)
        return client.approvals.get(agent_id, request_id, call_id)
      })
      printRecord(world, found, options)
    })

  takesCall(command.command('approve'))
    .description('Let the tool be called')
    .option('--arguments <json>', 'call it with these arguments instead; @file, or - for stdin')
    .action(async (request_id: string, options: WhichOptions & { arguments?: string }) => {
      const { arguments: given } = options
      // The service refuses what is no object. If it were left out, the call would be approved as the agent asked for it.
      const changed = given !== undefined && {
        arguments: parseJson(await readText(world, given), 'The arguments') as Record<string, never>,
      }
      await decide(world, request_id, options, { decision: 'approve', ...changed })
    })

  takesCall(command.command('reject'))
    .description('Do not let the tool be called, or do not answer')
    .option('--note <text>', 'why; the agent is told')
    .action(async (request_id: string, { note, ...options }: WhichOptions & { note?: string }) =>
      decide(world, request_id, options, { decision: 'reject', ...(note !== undefined && { note }) }),
    )

  takesCall(command.command('answer'))
    .description('Answer a question')
    .argument('[answer...]', 'without it stdin is read')
    .action(async (request_id: string, words: string[], options: WhichOptions) =>
      decide(world, request_id, options, { decision: 'approve', answer: await readMessage(world, words) }),
    )
}

function takesCall(command: Command): Command {
  return takesService(command)
    .argument('<request_id>')
    .option('--call <call_id>', 'which call, if the run asks about several')
    .option('--agent <agent>', 'its agent; looked up otherwise')
}

type Decision = Parameters<Client['approvals']['decide']>[3]

async function decide(world: World, request_id: string, options: WhichOptions, decision: Decision): Promise<void> {
  await withClient(world, options, async (client) => {
    const { agent_id, call_id } = await findCall(client, request_id, options)
    const decided = await client.approvals.decide(agent_id, request_id, call_id, decision, options)
    const then = await whatFollows(client, request_id).catch(() => '')
    printDone(world, decided, options, `${decided.tool} is ${decided.status}.${then} (${request_id})`)
  })
}

/** The decision is stored: that this cannot be looked up does not make it fail. */
async function whatFollows(client: Client, request_id: string): Promise<string> {
  const { pagination } = await client.approvals.list({ request_id, status: 'pending', limit: 1 })
  if (pagination.total > 0) return ` The run waits for ${counted(pagination.total, 'more decision')}.`
  const { paused } = await client.pauses.get()
  return paused ? ' The run resumes when the pause ends.' : ' The run resumes.'
}

/** What is pending comes first: a run that has asked before may ask again. */
async function findCall(client: Client, request_id: string, { agent, call }: WhichOptions) {
  if (agent !== undefined && call !== undefined) return { agent_id: agent, call_id: call }
  const { data } = await client.approvals.list({ request_id, limit: 100 })
  const named = data.filter(({ call_id }) => call === undefined || call_id === call)
  const pending = named.filter(({ status }) => status === 'pending')
  const [found, ...others] = pending.length > 0 ? pending : named
  if (!found) throw new Failure(EXIT.notFound, `${request_id} waits for no decision, or is not there`)
  if (others.length > 0) {
    const calls = [found, ...others].map(({ call_id }) => call_id).join(', ')
    throw usage(`${request_id} asks about several calls: add --call with one of ${calls}`)
  }
  return found
}
