import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import type { Database } from '../storage/database.ts'
import type { Project } from './project.ts'
import * as projects from './store.ts'

/** A key of one project does not learn whether another exists. */
export async function getInReach(db: Database, { reach, scope }: Actor, ref: string): Promise<Project> {
  const project = await projects.get(db, ref)
  if (reach === 'project' && project.id !== scope.project_id) throw notFound('Project', ref)
  return project
}
