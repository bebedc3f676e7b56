import type { Actor } from '../operation/actor.ts'
import type { Database } from '../storage/database.ts'
import { listNames } from './store.ts'

type WithKeyName<Field extends string> = { [F in Field as `${F}_name`]: string | null }

/**
 * Adds the names of keys to items that have their IDs: `created_by` gets `created_by_name` beside it. The name is null
 * if it wasn't a key, if the key was deleted, or if it belongs to another project. A token for one user gets no names.
 */
export async function withKeyNames<Field extends string, Item extends { [F in Field]: string | null }>(
  db: Database,
  { scope, reach }: Pick<Actor, 'scope' | 'reach'>,
  items: readonly Item[],
  fields: readonly Field[],
): Promise<(Item & WithKeyName<Field>)[]> {
  const ids = new Set(scope.user_id === null ? items.flatMap((item) => fields.map((field) => item[field])) : [])
  ids.delete(null as never)
  const names = await listNames(db, [...ids] as string[], { project_id: scope.project_id, reach })
  return items.map((item) => {
    const named = fields.map((field) => [`${field}_name`, names.get(item[field] ?? '') ?? null])
    return { ...item, ...(Object.fromEntries(named) as WithKeyName<Field>) }
  })
}

/** Adds to keys who made them and who owns them. */
export async function withOwners<Item extends { created_by: string; person_id: string | null }>(
  db: Database,
  actor: Pick<Actor, 'scope' | 'reach'>,
  items: readonly Item[],
) {
  const named = await withKeyNames(db, actor, items, ['created_by', 'person_id'])
  return named.map(({ person_id_name: person_name, ...key }) => ({ ...key, person_name }))
}

export async function withOwner<Item extends { created_by: string; person_id: string | null }>(
  db: Database,
  actor: Pick<Actor, 'scope' | 'reach'>,
  item: Item,
) {
  const [named] = await withOwners(db, actor, [item])
  return named as NonNullable<typeof named>
}

/** The same as `withKeyNames` for one item. */
export async function withKeyName<Field extends string, Item extends { [F in Field]: string | null }>(
  db: Database,
  actor: Pick<Actor, 'scope' | 'reach'>,
  item: Item,
  fields: readonly Field[],
): Promise<Item & WithKeyName<Field>> {
  const [named] = await withKeyNames(db, actor, [item], fields)
  return named as Item & WithKeyName<Field>
}
