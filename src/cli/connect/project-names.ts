import type { Client } from '../../../sdk/client.ts'

/** Shows where something is. Undefined where there is one project: then it need not be named. */
export type PlaceOf = (project_id: string | null) => string | undefined

/** Finds the names of projects. A project that this key may not see is shown by its id. */
export async function projectNames(client: Client): Promise<PlaceOf> {
  const names = new Map<string, string>()
  try {
    for await (const { id, name } of client.projects.list({ limit: 100 })) names.set(id, name)
  } catch {
    // Without a name, the id is shown.
  }
  return (id) => {
    if (names.size === 1 && (id === null || names.has(id))) return undefined
    return id === null ? 'all projects' : (names.get(id) ?? id)
  }
}

/** `prj_… (shop)`: the id, and the name if it is known. */
export function withProjectName(id: string, placeOf: PlaceOf): string {
  const name = placeOf(id)
  return name === undefined || name === id ? id : `${id} (${name})`
}
