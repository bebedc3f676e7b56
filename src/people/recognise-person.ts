import type { Config } from '../config.ts'
import { defaultTierFor } from '../keys/key-tiers.ts'
import * as roleKeys from '../keys/personal/role-store.ts'
import type { NewId } from '../lib/id.ts'
import type { Logger } from '../lib/log.ts'
import * as projects from '../projects/store.ts'
import { sha256 } from '../security/digest.ts'
import type { Identity } from '../security/oidc/identity.ts'
import { ALL_PROJECTS, type OidcSettings } from '../security/oidc/oidc-settings.ts'
import { coversAll, permissionsOf } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import { findMaker } from './invitations/find-maker.ts'
import type { Invitation } from './invitations/invitation.ts'
import * as invitations from './invitations/invitation-store.ts'
import { endOfRole, GRANTED, type Person, type Role } from './person.ts'
import { endRole, type Grant, giveRole, listRoles, type Occasion, recordRole } from './roles.ts'
import * as people from './store.ts'

/** Why a person whom an identity provider knows may not sign in. */
export type Unwelcome = 'no_role' | 'other_domain' | 'invitation_invalid' | 'email_not_verified'

type RecogniseParts = Occasion & { config: Config; newId: NewId; log: Logger }

/** The person changes their own roles, through what their provider says about them. */
const causedBy = ({ id }: Person, parts: RecogniseParts) =>
  ({ ...parts, actor: { kind: 'person', id, person_id: id } }) as const

/**
 * The person behind an identity, with the roles that groups and invitations give. A new person is stored even without a
 * role, so that an administrator can give one.
 */
export async function recognisePerson(
  db: Database,
  identity: Identity,
  issuer: OidcSettings,
  parts: RecogniseParts,
  invitation?: string,
): Promise<{ person: Person; roles: Role[] } | Unwelcome> {
  const { now } = parts
  const invited = invitation === undefined ? undefined : await invitations.findOpen(db, sha256(invitation), now)
  if (invitation !== undefined) {
    const maker = invited && (await findMaker(db, invited, parts.config, now))
    if (!maker || invited?.email !== identity.address?.email) return 'invitation_invalid'
    if (!identity.address?.isVerified) return 'email_not_verified'
  }
  const identified = await people.findByIdentity(db, identity.issuer, identity.subject)
  if (!identified && !invited && !isOfDomain(identity, issuer)) return 'other_domain'
  const known = identified ?? (await findLinked(db, identity, parts))

  const person = await keepPerson(db, identity, known, parts)
  await followGroups(db, person, identity, issuer, parts)
  if (identity.address?.isVerified) await acceptInvitations(db, person, identity.address.email, invited, parts)
  const present = await listRoles(db, [person.id])
  const roles = present.filter((role) => endOfRole(role, issuer.name) > now)
  return roles.length === 0 ? 'no_role' : { person, roles }
}

/** Updates the roles of a known person to what the provider says now. */
export async function refreshPerson(
  db: Database,
  person_id: string,
  identity: Identity,
  issuer: OidcSettings,
  parts: RecogniseParts,
): Promise<void> {
  const known = await people.find(db, person_id)
  if (!known) return
  await followGroups(db, await keepPerson(db, identity, known, parts), identity, issuer, parts)
}

/** Ends the roles from the groups of a provider that no longer vouches for the person. */
export async function forsakePerson(
  db: Database,
  person_id: string,
  issuer: OidcSettings,
  parts: RecogniseParts,
): Promise<void> {
  const known = await people.find(db, person_id)
  if (known) await followGroups(db, known, { groups: [] }, issuer, parts)
}

/**
 * The person with the same email address at another provider, if the operator links the two and that provider has given
 * them a role.
 */
async function findLinked(
  db: Database,
  { issuer, subject, address }: Identity,
  { config }: RecogniseParts,
): Promise<Person | undefined> {
  if (!config.console.linkVerifiedEmails || !address?.isVerified) return undefined
  const linked = await people.findByVerifiedEmail(db, address.email)
  if (!linked || (await listRoles(db, [linked.id])).length === 0) return undefined
  // A removed person who signs in again is recognized as the same person, and isn't mistaken for another one with their
  // email address.
  if ((await people.findIdOf(db, issuer, subject)) !== undefined) return undefined
  await people.insertIdentity(db, { issuer, subject, person_id: linked.id })
  return linked
}

/** Stores what the provider says about a person. Anything that it doesn't mention stays unchanged. */
async function keepPerson(
  db: Database,
  { issuer, subject, name, address }: Identity,
  known: Person | undefined,
  { newId, now }: RecogniseParts,
): Promise<Person> {
  const told = address && { email: address.email, email_verified: address.isVerified ? 1 : 0 }
  if (known) {
    const person = { ...known, ...told, name: name ?? known.name, last_seen_at: now }
    await people.update(db, person)
    return person
  }
  const shown = { name: name ?? address?.email ?? subject, email: null, email_verified: 0 }
  const said = { ...shown, ...told, last_seen_at: now }
  const former = await people.findIdOf(db, issuer, subject)
  const person = { ...said, id: former ?? newId('prs', now), created_at: now }
  await people.insert(db, person)
  if (former === undefined) await people.insertIdentity(db, { issuer, subject, person_id: person.id })
  return person
}

/** An empty list allows every domain. */
function isOfDomain({ address }: Identity, { emailDomains }: OidcSettings): boolean {
  if (emailDomains.length === 0) return true
  return address !== undefined && address.isVerified && emailDomains.includes(address.email.split('@').at(-1) ?? '')
}

/**
 * Gives the roles of the person's groups, and ends those of groups that the person has left. A provider that says
 * nothing about groups changes no role, and doesn't confirm any: they end after `keepRoles`.
 */
async function followGroups(
  db: Database,
  person: Person,
  { groups }: Pick<Identity, 'groups'>,
  issuer: OidcSettings,
  parts: RecogniseParts,
): Promise<void> {
  if (!groups) return
  const source = `group:${issuer.name}`
  const cause = causedBy(person, parts)
  const wanted = await grantsOf(db, groups, issuer, parts)
  const present = await listRoles(db, [person.id])
  for (const role of present) {
    if (role.role_source !== source || wanted.has(role.project_id)) continue
    await endRole(db, role, cause)
    await recordRole(db, role, 'endRoleByGroup', cause)
  }
  for (const grant of wanted.values()) {
    const held = present.find(({ project_id }) => project_id === grant.project_id)
    // A role from an administrator takes precedence over groups, and so does a role from another provider that is also
    // asked.
    if (held && held.role_source !== source && endOfRole(held) > parts.now) continue
    if (held && isSame(held, grant, person)) continue
    await giveRole(db, person, { ...grant, source, by: source }, cause)
    const isNameAlone = held && isSame({ ...held, name: person.name }, grant, person)
    const { project_id } = grant
    if (isNameAlone) continue
    await recordRole(db, { person_id: person.id, project_id }, 'giveRoleByGroup', cause)
  }
  // Another provider that knows the same person says nothing about these groups.
  await roleKeys.vouchForRoles(db, person.id, source, parts.now)
}

function isSame(held: Role, { role, permissions, tier }: Omit<Grant, 'source' | 'by'>, { name }: Person): boolean {
  return held.role === role && held.tier === tier && held.name === name && `${held.permissions}` === `${permissions}`
}

/** The roles from groups, by project; for each project the first that matches. */
async function grantsOf(
  db: Database,
  groups: readonly string[],
  { name, roles }: OidcSettings,
  { config, log }: RecogniseParts,
): Promise<Map<string | null, Omit<Grant, 'source' | 'by'>>> {
  const grants = new Map<string | null, Omit<Grant, 'source' | 'by'>>()
  for (const line of roles) {
    const given = groups.includes(line.group) ? await grantOf(db, line, { name, config, log }) : undefined
    if (given && !grants.has(given.project_id)) grants.set(given.project_id, given)
  }
  return grants
}

/** The role that a line of the settings gives. Undefined, with a log entry, if its project or role doesn't exist. */
async function grantOf(
  db: Database,
  { group, project, role }: OidcSettings['roles'][number],
  { name, config, log }: { name: string; config: Config; log: Logger },
): Promise<Omit<Grant, 'source' | 'by'> | undefined> {
  const project_id = project === ALL_PROJECTS ? null : (await projects.find(db, project))?.id
  const permissions = permissionsOf(role, config.roles)
  if (project_id !== undefined && permissions.length > 0) {
    return { project_id, role, permissions, tier: config.limits.defaultTier }
  }
  log.warn({ issuer: name, group, project, role }, 'console.oidc roles name a project or a role that does not exist')
  return undefined
}

/** Logs at start which lines of the settings have no effect. */
export async function reportIdleRoles(db: Database, { config, log }: { config: Config; log: Logger }): Promise<void> {
  for (const { name, roles } of config.console.oidc) {
    for (const line of roles) await grantOf(db, line, { name, config, log })
  }
}

async function acceptInvitations(
  db: Database,
  person: Person,
  email: string,
  invited: Invitation | undefined,
  parts: RecogniseParts,
): Promise<void> {
  const { config, now } = parts
  const cause = causedBy(person, parts)
  const { id: person_id } = person
  for (const hash of new Set([invited?.hash ?? null, null])) {
    const accepted = await invitations.accept(db, { hash, email }, { person_id, now })
    if (!accepted) continue
    const { project_id, role, created_by: by } = accepted
    await recordRole(db, { person_id, project_id }, 'acceptInvitation', cause)
    const maker = await findMaker(db, accepted, config, now)
    const permissions = permissionsOf(role, config.roles)
    const held = (await listRoles(db, [person_id])).find((one) => one.project_id === project_id)
    // An invitation adds permissions. It never removes any.
    if (!maker || permissions.length === 0 || (held && coversAll(held.permissions, permissions))) continue
    const tier = defaultTierFor(maker, config.limits)
    await giveRole(db, person, { project_id, role, permissions, source: GRANTED, tier, by }, cause)
  }
}
