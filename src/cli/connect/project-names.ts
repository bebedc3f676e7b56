import type { Client } from '../../../sdk/client.ts'

/**
 * Returns the name of the project that something belongs to. Undefined if there is only one project, which needn't be
 * named.
 */
export type PlaceOf = (project_id: string | null) => string | undefined

/** Finds the projects' names. A project that the key may not see is shown by its ID. */
export async function projectNames(client: Client): Promise<PlaceOf> {
  const names = new Map<string, string>()
  try {
    for await (const { id, name } of client.projects.list({ limit: 100 })) names.set(id, name)
  } catch {
    // Without a name, the ID is shown.
  }
  return (id) => {
    if (names.size === 1 && (id === null || names.has(id))) return undefined
    return id === null ? 'all projects' : (names.get(id) ?? id)
  }
}

/** `prj_… (shop)`: the ID, and the name if it is known. */
export function withProjectName(id: string, placeOf: PlaceOf): string {
  const name = placeOf(id)
  return name === undefined || name === id ? id : `${id} (${name})`
}
