import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { type SpeakingModel, startSpeakingModel } from '../../support/outside/speaking-model.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { approver, startWaiting, untilStatus } from '../../support/slices/approvals.ts'
import { createAgent } from '../../support/slices/resources.ts'

const FULL = `The run waits: The budget "tight" doesn't have enough left: 1 run of 1 run used, and this call could need 1 run.`
const ASKS = { tool: 'ask_person', arguments: { question: 'Which berth?', options: ['north', 'south'] } }
const FOR_PEOPLE = 'The run waits for a person to decide.'

let model: SpeakingModel

inConsole(
  'a run that waits, in the console',
  (visit, service) => {
    const post = async (path: string, body: object, expected: number) => {
      const headers = { Prefer: 'respond-async' }
      const { status, text, body: reply } = await service().call('POST', path, { body, headers })
      assert.equal(status, expected, text)
      return reply.data
    }
    /** Begins a run in the session `trip` of the agent. */
    const begin = async (agent: string, more: object = {}) => {
      const body = { message: 'Set sail', context: { session_id: 'trip' }, ...more }
      return (await post(`/v1/agents/${agent}/invoke`, body, 202)).request_id as string
    }
    const receipt = (agent: string, request_id: string) => `/v1/agents/${agent}/invocations/${request_id}`
    const saysNothingOfPeople = async (page: Page) => {
      assert.equal(await page.getByText('a person').count(), 0)
      assert.equal(await page.getByRole('link', { name: 'Go to approvals' }).count(), 0)
    }
    before(() => createAgent(service(), 'sailor', { model: 'local/parrot' }))
    after(() => model.close())

    test("for a budget: the playground and the run's page name the budget, and ask no person", async () => {
      await createAgent(service(), 'bosun')
      const limited = { name: 'tight', scope: { type: 'agent', id: 'bosun' }, limit: { runs: 1 }, per: 'ever' }
      await post('/v1/budgets', limited, 201)
      await untilStatus(service(), receipt('bosun', await begin('bosun')), 'completed')
      const request_id = await begin('bosun', { on_budget: 'wait' })
      await untilStatus(service(), receipt('bosun', request_id), 'waiting')
      const { page, settled, go, leave } = await visit('/agents/bosun?session=trip', { isStill: true })
      await page.getByText(FULL).waitFor()
      await settled()
      await saysNothingOfPeople(page)
      await go(`/activity/${request_id}`)
      await page.getByText(FULL).waitFor()
      await settled()
      await saysNothingOfPeople(page)
      assert.equal(await page.getByText('still in progress').count(), 0)
      await leave()
    })

    test('for a pause to end: it says so, and continues in the conversation afterwards', async () => {
      const { page, settled, leave } = await visit('/agents/sailor?session=trip', { isHurried: true })
      await page.getByLabel('Message', { exact: true }).fill('Set sail')
      await page.keyboard.press('Enter')
      const cut = await model.next()
      cut.say('Aye')
      await page.getByText('Aye').waitFor()
      await post('/v1/pause', { reason: 'a loop' }, 200)
      await page.getByText('The run waits: Paused.').waitFor()
      await settled()
      await saysNothingOfPeople(page)
      await post('/v1/resume', {}, 200)
      const again = await model.next()
      again.say('Under way.')
      again.finish()
      await page.getByText('Under way.').waitFor()
      await page.getByText('completed').waitFor()
      await leave()
    })

    test("for a person: the run's page says so, and the question can be answered there", async () => {
      const asking = { model: 'builtin/script', tools: [{ type: 'ask_person' }] }
      await createAgent(service(), 'mate', { ...asking, script: { rules: [{ call: ASKS, reply: 'To the north.' }] } })
      const { request_id } = await startWaiting(service(), 'mate', 'Where to?')
      const key = await approver(service())
      const { page, settled, leave } = await visit(`/activity/${request_id}`, { key, isHurried: true })
      await page.getByText(FOR_PEOPLE).waitFor()
      const link = page.getByRole('link', { name: 'Go to approvals' })
      assert.match((await link.getAttribute('href')) ?? '', new RegExp(`/approvals\\?request=${request_id}$`))
      await checkAccess(page)
      await page.getByRole('button', { name: 'north' }).click()
      await page.getByText('To the north.').first().waitFor()
      await settled()
      assert.equal(await page.getByText(FOR_PEOPLE).count(), 0)
      await leave()
    })
  },
  {
    settings: async () => {
      model = await startSpeakingModel()
      return localProvider(model.url)
    },
  },
)
