import { requirePerson } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { CreatePersonalKeyBody, KeyWithSecret } from '../key.ts'
import { makeKey, personalOwner } from '../make-key.ts'

export const createPersonalKey = operation({
  id: 'createPersonalKey',
  method: 'POST',
  path: '/v1/personal-keys',
  summary: 'Create a personal key',
  description:
    'For people who are signed in. The key never has more permissions than your role in this project, and stops working when your role ends. The secret is returned only in this reply.',
  access: {
    permission: null,
    forPeople: true,
    concerns: async ({ body }) => body.agent_id,
  },
  mfa: { policy: 'keys' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { body: CreatePersonalKeyBody },
  answer: { status: 201, data: KeyWithSecret, secret: true },

  async run({ body }, needs: Needs<'db' | 'actor' | 'config' | 'newId' | 'now'>) {
    const owner = personalOwner(requirePerson(needs.actor), body.agent_id)
    return makeKey(body, () => owner, needs)
  },
})
