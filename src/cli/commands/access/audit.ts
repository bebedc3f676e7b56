import { type Command, InvalidArgumentError } from 'commander'
import { counted } from '../../../lib/text/counted.ts'
import { takesData } from '../../command.ts'
import { type Common, withLocalStore } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { print, printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  listAuditLog: {
    name: 'list',
    about: 'List changes and refusals, most recent first',
    options: {
      action: { flags: '--action <operation>', about: 'such as deleteAgent' },
      actor: { flags: '--actor <id>', about: 'a key, or the owner of a token' },
      agent_id: 'agent ID or name; for a deleted agent, its ID',
      deleted_project_id: { flags: '--deleted-project <id>', about: 'entries of a deleted project (its ID)' },
      since: 'a duration such as 7d, or a time',
      until: 'a duration, or a time',
    },
    async find({ query }, client) {
      // The audit log contains only the agents' IDs, because it outlives the agents.
      const agent = query['agent_id'] as string | undefined
      if (agent && !agent.startsWith('agt_')) query['agent_id'] = (await client.agents.get(agent)).id
    },
    columns: {
      agents: ({ target, agent_id }) => target ?? agent_id,
      of: [
        'seq',
        ['TIME', ({ created_at }) => created_at],
        ['ACTOR', ({ actor, actor_name }) => (actor_name === null ? actor : `${actor_name} (${actor})`)],
        'action',
        ['OUTCOME', ({ code, outcome }) => code ?? outcome],
        ['TARGET', ({ target, agent_id }, { agent }) => agent(target ?? agent_id ?? '-')],
        'address',
        'times',
      ],
    },
  },
  getAuditHead: {
    name: 'head',
    about: "Print the latest entry's SEQ:HASH. Store it elsewhere to verify the log later",
    show: (world, { seq, hash }) => print(world, `${seq}:${hash}`),
  },
}

type ChainPosition = { seq: number; hash: string }

export const audit = storeCommands('audit', SPECS, addVerify)

function addVerify(command: Command, world: World): void {
  takesData(
    command
      .command('verify')
      .description("Verify the audit log's hash chain, on the server (exit code 1 if it's broken)")
      .option('--pinned <seq:hash>', 'SEQ:HASH, as `moorage audit head` printed it earlier', chainPosition),
  ).action((options: Common & { pinned?: ChainPosition }) => verifyAudit(world, options))
}

async function verifyAudit(world: World, options: Common & { pinned?: ChainPosition }): Promise<void> {
  const { verifyChain } = await import('../../../audit/chain.ts')
  const verdict = await withLocalStore(world, options, ({ parts: { keyring, storage } }) =>
    verifyChain({ db: storage.db, keyring }, options.pinned),
  )
  if (options.json) printJson(world, verdict)
  if (!verdict.ok) throw new Failure(EXIT.failed, `Verification failed at entry ${verdict.seq}: ${verdict.problem}`)
  if (options.json) return
  success(world, `${counted(verdict.entries, 'entry', 'entries')} verified`)
  print(world, `${verdict.head.seq}:${verdict.head.hash}`)
}

function chainPosition(text: string): ChainPosition {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (!match) throw new InvalidArgumentError('It must be SEQ:HASH, as `moorage audit head` prints it.')
  return { seq: Number(match[1]), hash: match[2] as string }
}
