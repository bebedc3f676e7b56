import { operation } from '../operation.ts'
import { PersonParams, PersonReply, presentPerson } from './person.ts'
import { getInReach } from './person-in-reach.ts'
import * as people from './store.ts'

export const getPerson = operation({
  id: 'getPerson',
  method: 'GET',
  path: '/v1/people/{person_id}',
  summary: 'Get a person',
  description:
    'Returns the person with their identities and their roles: in this project or, with access to all projects, everywhere. `email_verified` shows whether an identity provider has verified the address. Without access to all projects, people without a role in the project are not found.',
  access: { permission: 'manage' },
  input: { params: PersonParams },
  answer: { data: PersonReply },

  async run({ params }, { db, actor }) {
    const { person, roles } = await getInReach(db, actor, params.person_id)
    return presentPerson(person, await people.listIdentities(db, [person.id]), roles)
  },
})
