import type { Command } from 'commander'
import type { Client } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import type { CommandInput, CommandSpec } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { readMessage } from '../../terminal/input.ts'
import { success } from '../../terminal/output.ts'

/** A run may ask about several calls. */
const WHICH = {
  params: { agent_id: false, call_id: false },
  more: (command: Command) =>
    command
      .option('--call <call_id>', 'the call, if the run waits for several decisions')
      .option('--agent <agent>', "the run's agent; looked up if not given"),
  find: findCall,
} as const

const DECIDE: CommandSpec<'decideApproval'> = {
  ...WHICH,
  only: true,
  async show(world, { tool, status }, { params }, client) {
    const { request_id = '' } = params
    const then = await whatFollows(client, request_id).catch(() => '')
    success(world, `${tool} is ${status}.${then} (${request_id})`)
  },
}

export const approvals = serviceCommands('approvals', {
  listApprovals: {
    about: 'List approvals and questions, most recent first',
    limit: 20,
    options: {
      agent_id: 'only of this agent',
      status: {
        about: '(default: pending)',
        choices: ['pending', 'approved', 'rejected', 'expired', 'cancelled', 'all'],
      },
      user_id: 'only of runs for this user',
      session_id: 'only of runs in this session',
      start_time: 'created at this time or later: a duration such as 2h, or a time',
    },
    read({ query }) {
      if (query['status'] === 'all') delete query['status']
      else query['status'] ??= 'pending'
    },
    columns: {
      of: [
        'request_id',
        ['CALL', ({ call_id }) => call_id],
        'agent_id',
        'status',
        'tool',
        'expires_at',
        ['ARGUMENTS', (approval) => JSON.stringify(approval.arguments)],
      ],
    },
  },
  getApproval: { ...WHICH, alias: 'show', about: 'Show the approval a run waits for' },
  decideApproval: [
    {
      ...DECIDE,
      name: 'approve',
      about: 'Approve a tool call',
      options: { arguments: 'call the tool with these arguments instead; @file reads a file, - reads stdin' },
      read: ({ body }) => void (body['decision'] = 'approve'),
    },
    {
      ...DECIDE,
      name: 'reject',
      about: 'Reject a tool call, or decline a question',
      options: { note: { flags: '--note <text>', about: 'the reason, which the agent sees' } },
      read: ({ body }) => void (body['decision'] = 'reject'),
    },
    {
      ...DECIDE,
      name: 'answer',
      about: 'Answer a question',
      more: (own) => WHICH.more(own).argument('[answer...]', 'read from stdin if not given'),
      async read({ body, words }, world) {
        Object.assign(body, { decision: 'approve', answer: await readMessage(world, words) })
      },
    },
  ],
})

/** Says what happens next. The decision is already stored, so the command doesn't fail if this can't be looked up. */
async function whatFollows(client: Client, request_id: string): Promise<string> {
  const { pagination } = await client.approvals.list({ request_id, status: 'pending', limit: 1 })
  if (pagination.total > 0) return ` The run waits for ${counted(pagination.total, 'more decision')}.`
  const { paused } = await client.pauses.get()
  return paused ? ' The run resumes when the pause ends.' : ' The run resumes.'
}

/** Finds the call. Pending approvals come first, because a run may ask several times about a call. */
async function findCall(asked: CommandInput, client: Client): Promise<void> {
  const { request_id = '' } = asked.params
  const { agent, call } = asked.options as { agent?: string; call?: string }
  const isNamed = agent !== undefined && call !== undefined
  const { agent_id, call_id } = isNamed ? { agent_id: agent, call_id: call } : await oneCall(client, request_id, call)
  Object.assign(asked.params, { agent_id, call_id })
}

async function oneCall(client: Client, request_id: string, call: string | undefined) {
  const { data } = await client.approvals.list({ request_id, limit: 100 })
  const named = data.filter(({ call_id }) => call === undefined || call_id === call)
  const pending = named.filter(({ status }) => status === 'pending')
  const [found, ...others] = pending.length > 0 ? pending : named
  if (!found) throw new Failure(EXIT.notFound, `No pending approval found for ${request_id}.`)
  if (others.length > 0) {
    const calls = [found, ...others].map(({ call_id }) => call_id).join(', ')
    throw usage(`${request_id} is waiting for several decisions. Add --call with one of ${calls}`)
  }
  return found
}
