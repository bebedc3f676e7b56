/** The key of a lane: the project that it belongs to, and whose work it is. */
export function laneKey(project_id: string, owner: string | number): string {
  return `${project_id}/${owner}`
}

/** The lanes of one project take turns as a group. A key without a project is in a group with others of the kind. */
export function groupOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}

export function ownerOf(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}
