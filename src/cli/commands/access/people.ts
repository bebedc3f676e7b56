import type { Command } from 'commander'
import type { Invitation, Person } from '../../../../sdk/client.ts'
import { count, takesService, takesStore, yesOption } from '../../command.ts'
import { type Common, withClient, withClientOrStore } from '../../connect/connect.ts'
import { addressOf } from '../../connect/service-address.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { type Column, note, printJson, printRecord, printRows, success } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Person>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'E-MAIL', of: ({ email }) => email },
  { title: 'ROLES', of: ({ roles }) => roles.map(rolePhrase).join(', ') || 'none' },
  { title: 'LAST SEEN', of: ({ last_seen_at }) => last_seen_at },
  { title: 'ID', of: ({ id }) => id },
]

const INVITATIONS: Column<Invitation>[] = [
  { title: 'E-MAIL', of: ({ email }) => email },
  { title: 'ROLE', of: rolePhrase },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'EXPIRES', of: ({ expires_at }) => expires_at },
  { title: 'ID', of: ({ id }) => id },
]

type Everywhere = { allProjects?: true }

export function people(command: Command, world: World): void {
  takesStore(command.command('list'))
    .alias('ls')
    .description('List people: those of --project, or all')
    .option('--email <address>', 'only who has this address')
    .addOption(limitOption())
    .action(async (options: Common & Limit & { email?: string }) => {
      const found = await withClientOrStore(world, options, (client) =>
        gather(world, options, (limit) => client.people.list({ limit, email: options.email, sort: 'name' })),
      )
      printRows(world, found, COLUMNS, options)
    })

  takesStore(command.command('get'))
    .description('Show a person')
    .argument('<person>', 'id')
    .action(async (id: string, options: Common) => {
      printRecord(world, await withClientOrStore(world, options, (client) => client.people.get(id)), options)
    })

  takesStore(command.command('role'))
    .description('Give a person a role in --project, or take it away')
    .argument('<person>', 'id')
    .argument('<role>', 'a role of the configuration, or none')
    .option('--all-projects', 'in all projects: with admin they administer the service')
    .action(async (id: string, role: string, options: Common & Everywhere) => {
      const body = { role: role === 'none' ? null : role, all_projects: options.allProjects ?? false }
      const person = await withClientOrStore(world, options, (client) => client.people.setRole(id, body, options))
      if (options.json) return printJson(world, person)
      success(world, `${person.name}: ${person.roles.map(rolePhrase).join(', ') || 'no role'}`)
    })

  takesStore(command.command('remove'))
    .alias('rm')
    .description('Remove a person with their roles, keys and sessions')
    .argument('<person>', 'id')
    .addOption(yesOption())
    .action(async (id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Remove ${id} with their keys and sessions?`, options)
      const removed = await withClientOrStore(world, options, (client) => client.people.delete(id, options))
      if (options.json) return printJson(world, removed)
      success(world, `Removed ${id}`)
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
      const found = await withClientOrStore(world, options, (client) =>
        gather(world, options, (limit) => client.invitations.list({ limit })),
      )
      printRows(world, found, INVITATIONS, options)
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
      if (options.json) return printJson(world, removed)
      success(world, `Took ${id} back`)
    })
}

function rolePhrase({ role, project_id }: { role: string; project_id: string | null }): string {
  return `${role} of ${project_id ?? 'all projects'}`
}
