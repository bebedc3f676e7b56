import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { PersonParams, PersonReply, presentPerson } from './person.ts'
import { getInReach } from './person-in-reach.ts'
import * as people from './store.ts'

export const getPerson = operation({
  id: 'getPerson',
  method: 'GET',
  path: '/v1/people/{person_id}',
  summary: 'Get a person',
  permission: 'manage',
  params: PersonParams,
  data: PersonReply,

  async run({ params }, { db, actor }: Needs<'db' | 'actor'>) {
    const { person, roles } = await getInReach(db, actor, params.person_id)
    return presentPerson(person, await people.listIdentities(db, [person.id]), roles)
  },
})
