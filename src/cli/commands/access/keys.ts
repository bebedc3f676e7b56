import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import type { Self } from '../../../../sdk/client.ts'
import { nearest } from '../../../lib/text/nearest.ts'
import { newKey } from '../../../security/key-format.ts'
import { usage } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { note, print, printJson } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

/** What the service has configured for tiers and roles, for the message after a key is created. */
const tiersOf = new WeakMap<object, Self['tiers']>()

const SPECS: CommandSpecs = {
  createKey: {
    about: 'Create a key. Prints only the secret to stdout, once',
    args: ['[name]'],
    options: {
      role: 'role: admin, developer, viewer, caller, approver, or one from the configuration',
      permissions: 'what the key can do; write includes invoke',
      agent_id: 'limit the key to one agent',
      all_projects: 'give the key access to all projects',
      tier: 'rate limit tier: free, pro, enterprise, or one from the configuration',
      expires_at: 'expiry: a duration such as 30d, or a time',
    },
    more: (command) => command.option('--name <name>', 'the name, instead of the argument'),
    read({ body, options }) {
      body['name'] ??= options['name']
      if (!body['name']) throw usage('Specify a name: moorage keys create <name> --role developer')
      if (!body['role'] && !body['permissions']) {
        throw usage("Specify the key's permissions with --role or --permissions.")
      }
    },
    async find(asked, client) {
      const { tiers, roles } = await client.keys.self()
      tiersOf.set(asked, tiers)
      if (asked.body['role'])
        requireRole(
          String(asked.body['role']),
          roles.map(({ name }) => name),
        )
    },
    done: ({ id, name, permissions }) => `Created ${id} "${name}" (${permissions.join(', ')})`,
    after: (world, { tier }, asked) => note(world, `  ${tierText(tier, tiersOf.get(asked) ?? [])}`),
  },
  listKeys: {
    columns: {
      agents: ({ agent_id }) => agent_id,
      projects: true,
      // Owners are shown only if there are personal keys.
      if: { OWNER: ({ person_id }) => person_id !== null },
      of: [
        'id',
        'name',
        ['OWNER', ({ person_id, person_name }) => person_name ?? person_id ?? 'service'],
        [
          'SCOPE',
          (key, { agent, project }) => (key.agent_id ? agent(key.agent_id) : (project(key.project_id) ?? 'all agents')),
        ],
        ['PERMISSIONS', ({ role, permissions }) => role ?? permissions],
        'tier',
        'status',
        ['KEY', ({ hint }) => hint],
        'last_used_at',
      ],
    },
  },
  getSelf: false,
  listInvocable: false,
  getKey: {},
  rotateKey: {
    name: 'rotate',
    about: "Rotate a key's secret. Prints only the new secret to stdout",
    options: { grace_period_seconds: 'how long the old secret keeps working (default: 24h; 0s ends it now)' },
    done({ id, name, previous_secret_expires_at: until }) {
      return `Rotated ${id} "${name}": the old secret ${until ? `works until ${until}` : 'no longer works'}`
    },
  },
  revokeKey: {
    about: 'Revoke a key immediately',
    confirm: 'Revoke {}? Every client that uses it loses access immediately.',
    done: 'Revoked {}',
  },
}

export const keys = storeCommands('keys', SPECS, addGenerate)

function addGenerate(command: Command, world: World): void {
  command
    .command('generate')
    .description('Print a new secret for MOORAGE_INIT_KEY, the first admin key. Needs no service')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => {
      const secret = newKey(randomBytes)
      if (json) printJson(world, { secret })
      else print(world, secret)
    })
}

/** `tier pro: 1000 requests per minute, 2000 at once; choose another with --tier: free, enterprise` */
function tierText(tier: string, tiers: Self['tiers']): string {
  const rates = tiers.find(({ name }) => name === tier)
  const others = tiers.flatMap(({ name }) => (name === tier ? [] : [name]))
  const said = rates
    ? `tier ${tier}: ${rates.requests_per_minute} requests per minute, bursts of ${rates.burst}`
    : `tier ${tier}`
  return others.length > 0 ? `${said}; choose another with --tier: ${others.join(', ')}` : said
}

function requireRole(role: string, roles: string[]): void {
  if (roles.includes(role)) return
  const meant = nearest(role, roles)
  const known = `The roles are ${roles.join(', ')}.`
  throw usage(`Unknown role "${role}". ${meant === undefined ? known : `Did you mean ${meant}? ${known}`}`)
}
