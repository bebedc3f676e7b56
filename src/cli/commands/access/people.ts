import type { Client, Person } from '../../../../sdk/client.ts'
import { type PlaceOf, projectNames } from '../../connect/known-names.ts'
import { addressOf } from '../../connect/service-address.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import type { CommandInput } from '../../from-operations/command-spec.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { note, print, printRecord, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const PERSON = { person_id: 'person ID or email address' }

export const people = storeCommands('people', {
  listPeople: {
    about: 'List the people with a role in --project, or everyone',
    query: { sort: 'name' },
    options: { email: { flags: '--email <address>', about: 'only the person with this email address' } },
    columns: {
      projects: true,
      of: [
        'name',
        ['EMAIL', addressPhrase],
        ['ROLES', ({ roles }, { project }) => rolesPhrase(roles, project) || 'none'],
        ['LAST SEEN', ({ last_seen_at }) => last_seen_at],
        'id',
      ],
    },
  },
  getPerson: {
    params: PERSON,
    find: findPerson,
    async show(world, person, _asked, client) {
      const roles = rolesPhrase(person.roles, await projectNames(client)) || 'none'
      printRecord(world, { ...person, email: addressPhrase(person), roles })
    },
  },
  setPersonRole: {
    name: 'role',
    about: "Set or remove a person's role in --project",
    params: PERSON,
    args: ['role'],
    options: { all_projects: 'in all projects; with admin, the person administers the service' },
    find: findPerson,
    read({ body }) {
      if (body['role'] === 'none') body['role'] = null
    },
    async show(world, person, _asked, client) {
      success(world, `${person.name}: ${rolesPhrase(person.roles, await projectNames(client)) || 'no role'}`)
      tellIds(world, 'Personal keys that have fewer permissions now', person.narrowed_keys)
      tellIds(world, 'Personal keys that stopped working', person.revoked_keys)
    },
  },
  deletePerson: {
    name: 'remove',
    about: 'Remove a person with their roles, keys and sessions',
    params: PERSON,
    confirm: 'Remove {} with their keys and sessions?',
    find: findPerson,
    show(world, removed, { ref }) {
      success(world, `Removed ${ref}`)
      tellIds(world, 'Personal keys that stopped working', removed.revoked_keys)
      tellIds(world, 'Service keys that they created, which keep working', removed.kept_keys)
      tellIds(world, 'Webhooks that they created, which keep working', removed.kept_webhooks)
    },
  },
  createInvitation: {
    name: 'invite',
    about: 'Create an invitation link for an email address, with a role in --project',
    local: false,
    args: ['email'],
    options: {
      role: 'admin, developer, viewer, caller, or a role from the configuration (default: viewer)',
      all_projects: 'in all projects',
      expires_in_hours: '--hours <number>',
    },
    read({ body }) {
      body['role'] ??= 'viewer'
    },
    json: (invitation, asked, world) => ({ ...invitation, link: linkOf(world, asked, invitation) }),
    show(world, invitation, asked) {
      success(world, `Invited ${invitation.email}. Send them this link. It works once, until ${invitation.expires_at}:`)
      print(world, linkOf(world, asked, invitation))
      note(world, '  The link is not shown again.')
    },
  },
  listInvitations: {
    name: 'invitations',
    about: 'List invitations to --project',
    columns: {
      projects: true,
      of: [
        'email',
        ['ROLE', (invitation, { project }) => rolesPhrase([invitation], project)],
        'status',
        'expires_at',
        'id',
      ],
    },
  },
  getInvitation: { name: 'invitation', about: 'Show an invitation' },
  revokeInvitation: { name: 'uninvite', about: 'Revoke an invitation', confirm: false, done: 'Revoked {}' },
})

function linkOf(world: World, { options }: CommandInput, { token }: { token: string }): string {
  return `${addressOf(world, options).url.replace(/\/$/, '')}/#invitation=${token}`
}

/** Finds the ID of a person who may be named by an email address that only they have. */
async function findPerson({ params }: CommandInput, client: Client): Promise<void> {
  const ref = params['person_id'] ?? ''
  if (!ref.includes('@')) return
  const { data } = await client.people.list({ email: ref, limit: 10 })
  const [person, ...others] = data
  if (!person) throw new Failure(EXIT.notFound, `No person with the email address ${ref} was found.`)
  if (others.length > 0) {
    throw usage(
      `Several people have the email address ${ref}. Use an ID instead: ${data.map(({ id }) => id).join(', ')}`,
    )
  }
  params['person_id'] = person.id
}

function addressPhrase({ email, email_verified }: Person): string | null {
  return email === null || email_verified ? email : `${email} (not verified)`
}

function rolesPhrase(roles: readonly { role: string; project_id: string | null }[], placeOf: PlaceOf): string {
  const phrases = roles.map(({ role, project_id }) => [role, placeOf(project_id)].filter(Boolean).join(' in '))
  return phrases.toSorted().join(', ')
}

function tellIds(world: World, what: string, ids: readonly string[]): void {
  if (ids.length > 0) note(world, `  ${what}: ${ids.join(', ')}`)
}
