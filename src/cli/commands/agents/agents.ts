import type { Command } from 'commander'
import type { CheckedPoint } from '../../../../sdk/client.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import type { CommandInput } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { paint, printPainted, shown } from '../../terminal/output.ts'
import { sparkline } from '../../terminal/sparkline.ts'
import type { World } from '../../world.ts'

const FIELDS = {
  model: {
    flags: '--model <model>',
    about: 'provider/model, such as builtin/echo. Separate fallback models with commas',
    value: (given: string) => (given.includes(',') ? given.split(',').map((name) => name.trim()) : given),
  },
  instructions: '--instructions <text>',
  description: '--description <text>',
  temperature: '0 to 2',
}

const withFile = (command: Command) =>
  command.option('-f, --file <file>', 'read all fields from this file, such as agent.yaml')

export const agents = serviceCommands('agents', {
  listAgents: { columns: { of: ['id', 'name', 'status', 'created_at'] } },
  listOverview: {
    name: 'overview',
    about: 'List agents with the version they serve and their last 24 hours',
    query: { sort: 'name' },
    columns: {
      of: [
        'name',
        'kind',
        'status',
        'version',
        'requests',
        'errors',
        ['P95 MS', ({ p95_ms }) => p95_ms],
        ['24 HOURS', ({ hours }) => sparkline(hours, hours.length)],
      ],
    },
  },
  listInvocable: {
    name: 'invocable',
    about: 'List the agents that your key can invoke',
    query: { sort: 'name' },
    columns: { of: ['name', 'status', 'description'] },
  },
  getAgent: {},
  createAgent: {
    args: ['[name]'],
    options: FIELDS,
    only: true,
    more: withFile,
    async read(asked, world) {
      await readFile(asked, world)
      if (asked.body['name'] === undefined) throw usage('Specify a name: moorage agents create <name>')
    },
    done: ({ name, id }) => `Created ${name} (${id})`,
  },
  updateAgent: {
    about: "Change an agent's draft. Deployed versions don't change",
    options: {
      ...FIELDS,
      name: 'a new name',
      status: 'pausing cancels active runs and refuses new ones',
    },
    only: true,
    more: withFile,
    read: readFile,
    done: ({ name, id }) => `Updated ${name} (${id})`,
  },
  checkRemote: {
    name: 'check',
    about: 'Check a remote agent from the service',
    options: {
      message: { flags: '-m, --message <text>', about: 'the message that is sent (default: Hello)' },
      timeout_ms: 'time limit of each call (default: 30s)',
    },
    call: (client, { params, body, options }) => client.agents.checkRemote(params['agent_id'] ?? '', body, options),
    show(world, { points }) {
      for (const point of points) tell(world, point)
    },
    verify({ error, points }) {
      if (error !== null) throw new Failure(EXIT.failed, error)
      failIfAny(points)
    },
  },
  deleteAgent: {
    about: 'Delete an agent with its deployments, memory, logs, webhooks and keys',
    confirm: 'Delete {} with its deployments, schedules, memory, logs, webhooks and keys?',
    done: ({ id }) => `Deleted ${id}`,
  },
  moveAgent: false,
  invokeAgent: false,
})

/** Adds the fields from the file. Options override them. */
async function readFile({ body, options }: CommandInput, world: World): Promise<void> {
  const file = options['file']
  if (typeof file !== 'string') return
  const { readAgentFile } = await import('./agent-file.ts')
  Object.assign(body, { ...readAgentFile(world, file).given, ...body })
}

const SHOWN = { ok: ['green', 'ok'], failed: ['red', 'failed'], not_tried: ['yellow', 'not tried'] } as const

export function failIfAny(points: readonly CheckedPoint[]): void {
  const failed = points.filter(({ status }) => status === 'failed')
  if (failed.length > 0) throw new Failure(EXIT.failed, `${failed.length} of ${points.length} checks failed`)
}

export function tell(world: World, { point, status, detail }: CheckedPoint): void {
  const [color, word] = SHOWN[status]
  const text = detail === null ? point : `${point}: ${detail}`
  printPainted(world, `${paint(world, 'stdout', color, word.padEnd(9))} ${shown(world, 'stdout', text)}`)
}
