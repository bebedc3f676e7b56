import type { Command } from 'commander'
import type { Client, Invitation, Person } from '../../../../sdk/client.ts'
import { count, takesService, takesStore, yesOption } from '../../command.ts'
import { type Common, withClient, withClientOrStore } from '../../connect/connect.ts'
import { type PlaceOf, projectNames } from '../../connect/project-names.ts'
import { addressOf } from '../../connect/service-address.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { type Column, note, printDone, printJson, printRecord, printRows, success } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const columns = (placeOf: PlaceOf): Column<Person>[] => [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'E-MAIL', of: addressPhrase },
  { title: 'ROLES', of: ({ roles }) => rolesPhrase(roles, placeOf) || 'none' },
  { title: 'LAST SEEN', of: ({ last_seen_at }) => last_seen_at },
  { title: 'ID', of: ({ id }) => id },
]

const invitationColumns = (placeOf: PlaceOf): Column<Invitation>[] => [
  { title: 'E-MAIL', of: ({ email }) => email },
  { title: 'ROLE', of: (invitation) => rolesPhrase([invitation], placeOf) },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'EXPIRES', of: ({ expires_at }) => expires_at },
  { title: 'ID', of: ({ id }) => id },
]

const PERSON = 'id or address'

type Everywhere = { allProjects?: true }

export function people(command: Command, world: World): void {
  takesStore(command.command('list'))
    .alias('ls')
    .description('List people: those of --project, or all')
    .option('--email <address>', 'only who has this address')
    .addOption(limitOption())
    .action(async (options: Common & Limit & { email?: string }) => {
      await withClientOrStore(world, options, async (client) => {
        const query = { email: options.email, sort: 'name' } as const
        const found = await gather(world, options, (limit) => client.people.list({ limit, ...query }))
        printRows(world, found, columns(await projectNames(client)), options)
      })
    })

  takesStore(command.command('get'))
    .description('Show a person')
    .argument('<person>', PERSON)
    .action(async (ref: string, options: Common) => {
      await withClientOrStore(world, options, async (client) => {
        const person = await client.people.get(await idOf(client, ref))
        const roles = rolesPhrase(person.roles, await projectNames(client)) || 'none'
        printRecord(world, options.json ? person : { ...person, email: addressPhrase(person), roles }, options)
      })
    })

  takesStore(command.command('role'))
    .description('Give a person a role in --project, or take it away')
    .argument('<person>', PERSON)
    .argument('<role>', 'a role of the configuration, or none')
    .option('--all-projects', 'in all projects: with admin they administer the service')
    .action(async (ref: string, role: string, options: Common & Everywhere) => {
      const body = { role: role === 'none' ? null : role, all_projects: options.allProjects ?? false }
      await withClientOrStore(world, options, async (client) => {
        const person = await client.people.setRole(await idOf(client, ref), body, options)
        if (options.json) return printJson(world, person)
        success(world, `${person.name}: ${rolesPhrase(person.roles, await projectNames(client)) || 'no role'}`)
        tellKeys(world, 'Keys of theirs that may do less from now on', person.narrowed_keys)
        tellKeys(world, 'Keys of theirs that have ended', person.revoked_keys)
      })
    })

  takesStore(command.command('remove'))
    .alias('rm')
    .description('Remove a person with their roles, keys and sessions')
    .argument('<person>', PERSON)
    .addOption(yesOption())
    .action(async (ref: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Remove ${ref} with their keys and sessions?`, options)
      await withClientOrStore(world, options, async (client) => {
        const removed = await client.people.delete(await idOf(client, ref), options)
        if (options.json) return printJson(world, removed)
        success(world, `Removed ${ref}`)
        tellKeys(world, 'Keys of theirs that have ended', removed.revoked_keys)
        tellKeys(world, 'Keys of services that they have made, which go on', removed.kept_keys)
        tellKeys(world, 'Webhooks that they have made, which go on', removed.kept_webhooks)
      })
    })

  takesService(command.command('invite'))
    .description('Make a link that gives a role in --project to the person with this address')
    .argument('<email>', 'which their identity provider has verified')
    .option('--role <role>', 'a role of the configuration', 'viewer')
    .option('--all-projects', 'in all projects')
    .option('--hours <number>', 'how long the link works', count, 72)
    .action(async (email: string, options: Common & Everywhere & { role: string; hours: number }) => {
      const { role, hours, allProjects = false } = options
      const body = { email, role, all_projects: allProjects, expires_in_hours: hours }
      const invitation = await withClient(world, options, (client) => client.invitations.create(body, options))
      const link = `${addressOf(world, options).url.replace(/\/$/, '')}/#invitation=${invitation.token}`
      if (options.json) return printJson(world, { ...invitation, link })
      success(world, `Invited ${email}. Send them this link, which works once, until ${invitation.expires_at}:`)
      world.stdout.write(`${link}\n`)
      note(world, '  it is not shown again')
    })

  takesStore(command.command('invitations'))
    .description('List invitations of --project')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClientOrStore(world, options, async (client) => {
        const found = await gather(world, options, (limit) => client.invitations.list({ limit }))
        printRows(world, found, invitationColumns(await projectNames(client)), options)
      })
    })

  takesStore(command.command('invitation'))
    .description('Show an invitation')
    .argument('<invitation>', 'id')
    .action(async (id: string, options: Common) => {
      printRecord(world, await withClientOrStore(world, options, (client) => client.invitations.get(id)), options)
    })

  takesStore(command.command('uninvite'))
    .description('Take an invitation back')
    .argument('<invitation>', 'id')
    .action(async (id: string, options: Common) => {
      const removed = await withClientOrStore(world, options, (client) => client.invitations.revoke(id, options))
      printDone(world, removed, options, `Took ${id} back`)
    })
}

/** The id of a person, who may be named by the address that only they have. */
async function idOf(client: Client, ref: string): Promise<string> {
  if (!ref.includes('@')) return ref
  const { data } = await client.people.list({ email: ref, limit: 10 })
  const [person, ...others] = data
  if (!person) throw new Failure(EXIT.notFound, `No person here has the address ${ref}`)
  if (others.length > 0) {
    throw usage(`Several people have the address ${ref}, name one by id: ${data.map(({ id }) => id).join(', ')}`)
  }
  return person.id
}

function addressPhrase({ email, email_verified }: Person): string | null {
  return email === null || email_verified ? email : `${email} (not verified)`
}

function rolesPhrase(roles: readonly { role: string; project_id: string | null }[], placeOf: PlaceOf): string {
  const phrases = roles.map(({ role, project_id }) => [role, placeOf(project_id)].filter(Boolean).join(' of '))
  return phrases.toSorted().join(', ')
}

function tellKeys(world: World, what: string, ids: readonly string[]): void {
  if (ids.length > 0) note(world, `  ${what}: ${ids.join(', ')}`)
}
