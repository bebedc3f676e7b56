import { z } from 'zod'
import { requireScope } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { PersonReply, presentPerson } from './person.ts'
import { rolesShown } from './person-in-reach.ts'
import { listRoles } from './roles.ts'
import * as people from './store.ts'

export const listPeople = operation({
  id: 'listPeople',
  method: 'GET',
  path: '/v1/people',
  summary: 'List people',
  description:
    'Lists the people with a role in this project. With access to all projects and no project named, lists everybody, including people who have signed in but have no role yet.',
  access: { permission: 'manage' },
  input: { query: listQuery(['created_at', 'last_seen_at', 'name', 'email', 'id'], { email: z.string().optional() }) },
  answer: { list: PersonReply },

  async run({ query }, { db, actor }) {
    requireScope(actor, null)
    const { email, ...page } = query
    const isOfAll = actor.reach === 'service' && !actor.names_project
    const where = isOfAll ? { email } : { email, project_id: actor.scope.project_id }
    const { items, total } = await people.list(db, page, where)
    const ids = items.map(({ id }) => id)
    const [identities, roles] = await Promise.all([people.listIdentities(db, ids), listRoles(db, ids)])
    const shown = rolesShown(actor, roles)
    const present = items.map((person) =>
      presentPerson(
        person,
        identities.filter(({ person_id }) => person_id === person.id),
        shown.filter(({ person_id }) => person_id === person.id),
      ),
    )
    return { items: present, total }
  },
})
