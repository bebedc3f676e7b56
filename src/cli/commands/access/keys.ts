import type { Command } from 'commander'
import type { Key, KeyWithSecret, Operations, Self } from '../../../../sdk/client.ts'
import { nearest } from '../../../lib/text/nearest.ts'
import { list, seconds, takesStore, yesOption } from '../../command.ts'
import { agentNames, type NameOf } from '../../connect/agent-names.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { type PlaceOf, projectNames } from '../../connect/project-names.ts'
import { usage } from '../../failure.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { timeAhead } from '../../terminal/input.ts'
import {
  type Column,
  note,
  print,
  printDone,
  printJson,
  printRecord,
  printRows,
  success,
} from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const OWNER: Column<Key> = {
  title: 'OWNER',
  of: ({ person_id, person_name }) => person_name ?? person_id ?? 'service',
}

/** Where no key is a person's, nothing is said of owners. */
const columns = (found: readonly Key[], nameOf: NameOf, placeOf: PlaceOf): Column<Key>[] => [
  { title: 'ID', of: (key) => key.id },
  { title: 'NAME', of: (key) => key.name },
  ...(found.some(({ person_id }) => person_id !== null) ? [OWNER] : []),
  { title: 'SCOPE', of: (key) => scopeOf(key, nameOf, placeOf) },
  { title: 'PERMISSIONS', of: (key) => key.role ?? key.permissions },
  { title: 'TIER', of: (key) => key.tier },
  { title: 'STATUS', of: (key) => key.status },
  { title: 'KEY', of: (key) => key.hint },
  { title: 'LAST USED', of: (key) => key.last_used_at },
]

function scopeOf({ project_id, agent_id }: Key, nameOf: NameOf, placeOf: PlaceOf): string {
  return agent_id === null ? (placeOf(project_id) ?? 'all agents') : nameOf(agent_id)
}

type CreateOptions = Common & {
  allProjects?: boolean
  name?: string
  role?: string
  permissions?: string[]
  agent?: string
  tier?: string
  expires?: string
}

export function keys(command: Command, world: World): void {
  takesStore(command.command('create'))
    .description('Create a key. Its secret, shown once, is all that goes to stdout')
    .argument('[name]', 'what the key is for')
    .option('--name <name>', 'the same as an option')
    .option('--role <role>', 'a role: admin, developer, viewer, caller, approver or one of the configuration')
    .option('--permissions <list...>', 'read, invoke, write (includes invoke), delete, manage, approve', list)
    .option('--agent <agent>', 'limit the key to one agent')
    .option('--all-projects', 'let it work in every project')
    .option('--tier <tier>', 'how many requests a minute: free, pro, enterprise or one of the configuration')
    .option('--expires <when>', 'when it ends: a duration such as 30d, or a time')
    .action(async (given: string | undefined, options: CreateOptions) => {
      const name = given ?? options.name
      if (!name) throw usage('Say what the key is for: moorage keys create <name> --role developer')
      if (!options.role && !options.permissions) throw usage('Say what the key may do: --role or --permissions')
      const body = {
        name,
        agent_id: options.agent,
        all_projects: options.allProjects,
        role: options.role,
        permissions: options.permissions as Operations['createKey']['body']['permissions'],
        tier: options.tier,
        expires_at: options.expires && timeAhead(options.expires),
      }
      await withClientOrStore(world, options, async (client) => {
        const { tiers, roles } = await client.keys.self()
        if (options.role)
          requireRole(
            options.role,
            roles.map((role) => role.name),
          )
        const key = await client.keys.create(body, options)
        showSecret(world, key, options, `Created ${key.id} "${key.name}" (${key.permissions.join(', ')})`)
        if (!options.json) note(world, `  ${tierText(key.tier, tiers)}`)
      })
    })

  takesStore(command.command('list'))
    .alias('ls')
    .description('List keys')
    .addOption(limitOption())
    .option('--agent <agent>', 'keys limited to this agent')
    .option('--status <status>', 'active, expired or revoked')
    .action(async (options: Common & Limit & { agent?: string; status?: Key['status'] }) => {
      const query = { agent_id: options.agent, status: options.status }
      await withClientOrStore(world, options, async (client) => {
        const found = await gather(world, options, (limit) => client.keys.list({ ...query, limit }))
        const nameOf = await agentNames(client, options.json ? [] : found.map((key) => key.agent_id))
        printRows(world, found, columns(found, nameOf, await projectNames(client)), options)
      })
    })

  takesStore(command.command('get'))
    .description('Show a key')
    .argument('<key_id>')
    .action(async (id: string, options: Common) => {
      const key = await withClientOrStore(world, options, (client) => client.keys.get(id))
      printRecord(world, key, options)
    })

  takesStore(command.command('rotate'))
    .description('Give a key a new secret, which is all that goes to stdout')
    .argument('<key_id>')
    .option('--grace <duration>', 'how long the old secret still works (24h; 0s: not at all)', seconds)
    .action(async (id: string, options: Common & { grace?: number }) => {
      const body = { grace_period_seconds: options.grace }
      const key = await withClientOrStore(world, options, (client) => client.keys.rotate(id, body, options))
      const until = key.previous_secret_expires_at
      const old = until ? `the old secret works until ${until}` : 'the old secret works no longer'
      showSecret(world, key, options, `Rotated ${key.id} "${key.name}": ${old}`)
    })

  takesStore(command.command('revoke'))
    .description('End a key at once')
    .argument('<key_id>')
    .addOption(yesOption())
    .action(async (id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Revoke ${id}? Whoever uses it is locked out at once.`, options)
      const revoked = await withClientOrStore(world, options, (client) => client.keys.revoke(id, options))
      printDone(world, revoked, options, `Revoked ${id}`)
    })
}

/** `tier pro: 1000 requests a minute, 2000 at once; --tier chooses another: free, enterprise` */
function tierText(tier: string, tiers: Self['tiers']): string {
  const rates = tiers.find(({ name }) => name === tier)
  const others = tiers.flatMap(({ name }) => (name === tier ? [] : [name]))
  const said = rates
    ? `tier ${tier}: ${rates.requests_per_minute} requests a minute, ${rates.burst} at once`
    : `tier ${tier}`
  return others.length > 0 ? `${said}; --tier chooses another: ${others.join(', ')}` : said
}

function requireRole(role: string, roles: string[]): void {
  if (roles.includes(role)) return
  const meant = nearest(role, roles)
  const known = `The roles are ${roles.join(', ')}.`
  throw usage(`There is no role ${role}. ${meant === undefined ? known : `Did you mean ${meant}? ${known}`}`)
}

/** Prints the secret alone on stdout, so that `KEY=$(moorage keys create …)` works. */
function showSecret(world: World, key: KeyWithSecret, { json }: Common, told: string): void {
  if (json) return printJson(world, key)
  success(world, told)
  print(world, key.secret)
}
