import { type InsertResult, type SqlBool, sql } from 'kysely'
import { conflict } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { Tables } from '../storage/tables.ts'
import type { Person } from './person.ts'

export async function find(db: Database, id: string): Promise<Person | undefined> {
  return db.selectFrom('persons').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function findByIdentity(db: Database, issuer: string, subject: string): Promise<Person | undefined> {
  return db
    .selectFrom('persons')
    .innerJoin('person_identities as i', 'i.person_id', 'persons.id')
    .selectAll('persons')
    .where('i.issuer', '=', issuer)
    .where('i.subject', '=', subject)
    .executeTakeFirst()
}

/** The first known person with this email address, if an identity provider has verified it. */
export async function findByVerifiedEmail(db: Database, email: string): Promise<Person | undefined> {
  return db
    .selectFrom('persons')
    .selectAll()
    .where('email', '=', email)
    .where('email_verified', '=', 1)
    .orderBy('created_at')
    .orderBy('id')
    .executeTakeFirst()
}

export type PersonFilter = {
  /** Only people with a role in this project. */
  project_id?: string
  email?: string | undefined
}

export async function list(db: Database, query: PageQuery, filter: PersonFilter): Promise<Page<Person>> {
  const { project_id, email } = filter
  let select = db.selectFrom('persons').selectAll('persons')
  if (email !== undefined) select = select.where('email', '=', email.toLowerCase())
  if (project_id !== undefined) {
    select = select.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('keys')
          .select('keys.id')
          .whereRef('keys.person_id', '=', 'persons.id')
          .where('keys.role_source', 'is not', null)
          .where('keys.revoked_at', 'is', null)
          .where('keys.project_id', '=', project_id),
      ),
    )
  }
  return page(db, select, query) as Promise<Page<Person>>
}

/** Whether anyone has ever signed in with an identity provider. */
export async function isAny(db: Database): Promise<boolean> {
  return (await db.selectFrom('persons').select('id').limit(1).executeTakeFirst()) !== undefined
}

export async function listIdentities(db: Database, ids: readonly string[]): Promise<Tables['person_identities'][]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('person_identities')
    .selectAll()
    .where('person_id', 'in', ids)
    .orderBy('issuer')
    .orderBy('subject')
    .execute()
}

export async function insert(db: Database, person: Person): Promise<void> {
  const inserting = db.insertInto('persons').values(person)
  requireFirst(await inserting.onConflict((known) => known.doNothing()).executeTakeFirst())
}

export async function insertIdentity(db: Database, identity: Tables['person_identities']): Promise<void> {
  const inserting = db.insertInto('person_identities').values(identity)
  requireFirst(await inserting.onConflict((known) => known.doNothing()).executeTakeFirst())
}

/** Of two simultaneous first sign-ins, the second is retried: then the person is known. */
function requireFirst({ numInsertedOrUpdatedRows }: InsertResult): void {
  if (numInsertedOrUpdatedRows === 0n) throw conflict('This person is already signing in. Try again.')
}

/** The ID of the person with this identity at a provider, even if the person was removed. */
export async function findIdOf(db: Database, issuer: string, subject: string): Promise<string | undefined> {
  const known = await db
    .selectFrom('person_identities')
    .select('person_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return known?.person_id
}

export async function update(db: Database, { id, ...changes }: Partial<Person> & { id: string }): Promise<void> {
  await db.updateTable('persons').set(changes).where('id', '=', id).execute()
}

/**
 * Their sessions are deleted with them, by foreign key. Their identities stay, so that they get the same ID if they
 * come back.
 */
export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('persons').where('id', '=', id).execute()
}

/** Removes people who weren't seen since `before` and never had a role, with their identities. */
export async function removeStrangers(db: Database, before: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('persons')
    .where('last_seen_at', '<', before)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('keys').select('keys.id').whereRef('keys.person_id', '=', 'persons.id'))),
    )
    .executeTakeFirst()
  const isOfPerson = sql<SqlBool>`exists (select 1 from persons p where p.id = person_identities.person_id)`
  const hadRole = sql<SqlBool>`exists (select 1 from keys k where k.person_id = person_identities.person_id)`
  await db
    .deleteFrom('person_identities')
    .where(({ not }) => not(isOfPerson))
    .where(({ not }) => not(hadRole))
    .execute()
  return Number(numDeletedRows)
}
