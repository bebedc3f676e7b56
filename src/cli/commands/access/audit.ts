import { type Command, InvalidArgumentError } from 'commander'
import type { AuditEntry } from '../../../../sdk/client.ts'
import { configOption, dataOption, takesStore } from '../../command.ts'
import { agentNames, type NameOf } from '../../connect/agent-names.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { pointInTime } from '../../terminal/input.ts'
import { type Column, print, printJson, printRows, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const columns = (nameOf: NameOf): Column<AuditEntry>[] => [
  { title: 'SEQ', of: (entry) => entry.seq },
  { title: 'TIME', of: (entry) => entry.created_at },
  { title: 'ACTOR', of: ({ actor, actor_name }) => (actor_name === null ? actor : `${actor_name} (${actor})`) },
  { title: 'ACTION', of: (entry) => entry.action },
  { title: 'OUTCOME', of: (entry) => entry.code ?? entry.outcome },
  { title: 'TARGET', of: (entry) => nameOf(entry.target ?? entry.agent_id ?? '-') },
  { title: 'ADDRESS', of: (entry) => entry.address },
  { title: 'TIMES', of: (entry) => entry.times },
]

type Filter = {
  action?: string
  actor?: string
  agent?: string
  deletedProject?: string
  outcome?: AuditEntry['outcome']
  since?: string
  until?: string
}
type ChainPosition = { seq: number; hash: string }

export function audit(command: Command, world: World): void {
  takesStore(command.command('list'))
    .alias('ls')
    .description('Changes and refusals, the newest first')
    .addOption(limitOption())
    .option('--action <operation>', 'such as deleteAgent')
    .option('--actor <id>', 'a key, or the owner of a token')
    .option('--agent <agent>', 'id or name; the id of one that was deleted')
    .option('--deleted-project <id>', 'the entries of a project that was deleted')
    .option('--outcome <outcome>', 'success, started or refused')
    .option('--since <when>', 'a duration such as 7d, or a time')
    .option('--until <when>', 'the same')
    .action(async (options: Common & Limit & Filter) => {
      const { action, actor, agent, outcome, since, until, deletedProject } = options
      const range = { since: since && pointInTime(since), until: until && pointInTime(until) }
      await withClientOrStore(world, options, async (client) => {
        // The audit log has only the ids of agents, because it outlives them.
        const agent_id = agent && !agent.startsWith('agt_') ? (await client.agents.get(agent)).id : agent
        const query = { action, actor, agent_id, outcome, deleted_project_id: deletedProject, ...range }
        const found = await gather(world, options, (limit) => client.audit.list({ ...query, limit }))
        const nameOf = await agentNames(
          client,
          options.json ? [] : found.map((entry) => entry.target ?? entry.agent_id),
        )
        printRows(world, found, columns(nameOf), options)
      })
    })

  takesStore(command.command('head'))
    .description('The end of the chain as SEQ:HASH: note it elsewhere, to verify against later')
    .action(async (options: Common) => {
      const head = await withClientOrStore(world, options, (client) => client.audit.head())
      if (options.json) return printJson(world, head)
      print(world, `${head.seq}:${head.hash}`)
    })

  command
    .command('verify')
    .description("Compute the chain anew, on the service's own machine; exit code 1 if it does not hold")
    .option('--pinned <seq:hash>', 'an end of the chain that was noted before', chainPosition)
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action((options: Common & { pinned?: ChainPosition }) => verifyAudit(world, options))
}

async function verifyAudit(world: World, options: Common & { pinned?: ChainPosition }): Promise<void> {
  const { openLocalStore } = await import('../../connect/local-store.ts')
  const { verifyChain } = await import('../../../audit/chain.ts')
  const store = await openLocalStore(world, options)
  const { keyring, storage } = store.parts
  const verdict = await verifyChain({ db: storage.db, keyring }, options.pinned).finally(store.close)
  if (options.json) printJson(world, verdict)
  if (!verdict.ok)
    throw new Failure(EXIT.failed, `The audit log does not hold at entry ${verdict.seq}: ${verdict.problem}`)
  if (options.json) return
  success(world, `${verdict.entries} entries hold`)
  print(world, `${verdict.head.seq}:${verdict.head.hash}`)
}

function chainPosition(text: string): ChainPosition {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (!match) throw new InvalidArgumentError('It must be SEQ:HASH, as `moorage audit head` prints it.')
  return { seq: Number(match[1]), hash: match[2] as string }
}
