import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { NOWHERE } from '../support/outside/local-server.ts'
import { untilCounted } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { inProject, onBothEngines, type Service } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'
import { createWebhook, delivery, LOCAL_RECEIVERS, listDeliveries, openInbox } from '../support/slices/webhooks.ts'

const WORD = 'zanzibar'
const CLOSED = { type: 'object', properties: { said: { type: 'string' } }, additionalProperties: false }

/** Agents that answer with a value: one that fits, and one of which the error tells a word. */
const ANSWERING = {
  'a structured answer': { rules: [{ output: { said: '{{message}}' } }] },
  'what is wrong with one': { rules: [{ output: { [WORD]: 1 } }] },
}

onBothEngines(
  'events that are redelivered after an erasure',
  (service) => {
    const erase = async (path: string, of: Service = service(), key = of.admin) => {
      const { status, text } = await of.call('DELETE', path, { key })
      assert.equal(status, 200, text)
    }

    for (const [what, script] of Object.entries(ANSWERING)) {
      describe(`contain nothing of ${what}`, () => {
        /** Sends the event of a run before and after something is erased, and returns the second one. */
        const sentAfter = async (t: TestContext, pathOf: (run: { agent: string; request_id: string }) => string) => {
          const agent = await newAgent(service(), { model: 'builtin/script', script, output: { schema: CLOSED } })
          const inbox = await openInbox(t)
          const hook = await createWebhook(service(), { url: inbox.url, agent_id: agent, events: ['*'] })
          const body = { message: WORD, context: { user_id: 'ada', session_id: 'secret talk' } }
          await service().call('POST', `/v1/agents/${agent}/invoke`, { body })
          const { id } = await delivery(service(), hook.id, 1)
          const sent = async (count: number) => (await inbox.first(count)).at(-1)?.body ?? ''
          const first = await sent(1)
          assert.ok(first.includes(WORD), first)
          const { request_id } = JSON.parse(first).data
          await erase(pathOf({ agent, request_id }))
          const again = await service().call('POST', `/v1/webhooks/${hook.id}/deliveries/${id}/redeliver`)
          assert.ok(again.status < 300, again.text)
          const second = await sent(2)
          for (const word of [WORD, 'ada', 'secret talk']) assert.ok(!second.includes(word), second)
          return JSON.parse(second).data
        }

        test('after the user is erased', async (t) => {
          const { context, output } = await sentAfter(t, () => '/v1/users/ada')
          assert.deepEqual(context, { user_id: null, session_id: null })
          assert.equal(output, undefined)
        })

        test('after the invocation is erased', async (t) => {
          const { error } = await sentAfter(
            t,
            ({ agent, request_id }) => `/v1/agents/${agent}/invocations/${request_id}`,
          )
          if (error) assert.deepEqual(error, { code: 'output_invalid', message: '' })
        })
      })
    }

    test('do not reveal whose budget it was, as far as the erasing key has access', async () => {
      /** A project in which ada and ben have used up what each user may, and ada has a budget of her own. */
      const furnish = async (of: Service) => {
        const agent = await newAgent(of)
        const hook = await createWebhook(of, { url: NOWHERE, events: ['budget.threshold', 'budget.exceeded'] })
        const limit = { limit: { tokens: 1 }, thresholds: [100], per: 'ever', action: 'notify' }
        for (const budget of [
          { name: 'each', scope: { type: 'user' } },
          { name: 'for Ada Lovelace', scope: { type: 'user', id: 'ada' } },
        ]) {
          const made = await of.call('POST', '/v1/budgets', { body: { ...budget, ...limit } })
          assert.equal(made.status, 201, made.text)
        }
        for (const user_id of ['ada', 'ben']) {
          const body = { message: 'one two three', context: { user_id } }
          assert.equal((await of.call('POST', `/v1/agents/${agent}/invoke`, { body })).status, 200)
        }
        let told: { id: string }[] = []
        await untilCounted('events of budgets', 6, async () => {
          told = await listDeliveries(of, hook.id)
          return told.length
        })
        const bodies = async () => {
          const path = `/v1/webhooks/${hook.id}/deliveries`
          const replies = await Promise.all(told.map(({ id }) => of.call('GET', `${path}/${id}`)))
          return replies.map(({ body }) => body.data.body as string)
        }
        const naming = async (text: string) => (await bodies()).filter((body) => body.includes(text)).length
        return { agent, bodies, naming }
      }
      const elsewhere = (await service().call('POST', '/v1/projects', { body: { name: 'elsewhere' } })).body.data.id
      const [here, there] = [await furnish(service()), await furnish(inProject(service(), elsewhere))]
      assert.deepEqual([await here.naming('"ada"'), await here.naming('"ben"')], [4, 2])

      const { secret } = await createKey(service(), { role: 'admin', agent_id: here.agent })
      await erase('/v1/users/ada', service(), secret)
      assert.equal(await here.naming('"ada"'), 4, 'a key of one agent does not reach what is of the project')

      await erase('/v1/users/ada')
      for (const name of ['ada', 'Ada']) assert.equal(await here.naming(name), 0)
      assert.deepEqual([await here.naming('"ben"'), await there.naming('"ada"')], [2, 4])
      const { data } = (await here.bodies()).map((body) => JSON.parse(body)).find((event) => event.data.name === '')
      assert.deepEqual([data.scope, data.subject], [{ type: 'user', id: null }, null])
    })
  },
  LOCAL_RECEIVERS,
)
