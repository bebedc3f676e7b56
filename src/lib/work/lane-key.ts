/** The key of a lane: its project, and the owner of the work. */
export function laneKey(project_id: string, owner: string | number): string {
  return `${project_id}/${owner}`
}

/** The lanes of one project take turns as a group. Keys without a project form groups by their kind. */
export function groupOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}

export function ownerOf(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}
