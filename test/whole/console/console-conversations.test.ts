import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { approver, refundingAgent, startTill, startWaiting, type Till } from '../../support/slices/approvals.ts'
import { createAgent } from '../../support/slices/resources.ts'

let model: ModelServer
let till: Till

inConsole(
  'conversations in the playground',
  (visit, service) => {
    before(async () => {
      const { tools } = refundingAgent(till)
      await createAgent(service(), 'cashier', { model: 'local/tiny', tools, approvals: { self: true } })
      await createAgent(service(), 'parrot')
    })
    after(async () => {
      await model.close()
      await till.close()
    })
    const TWO_REFUNDS = {
      calls: [
        { name: 'refund', arguments: { order: 'first', amount: 1 } },
        { name: 'refund', arguments: { order: 'second', amount: 2 } },
      ],
    }
    const DONE = { text: ['Both done.'] }
    const said = (session_id: string, message: string) =>
      service().call('POST', '/v1/agents/parrot/invoke', { body: { message, context: { session_id } } })

    test('a call is decided in the conversation, and each decision shows what the run still waits for', async () => {
      model.reply(TWO_REFUNDS, DONE)
      const { page, leave } = await visit('/agents/cashier', { isHurried: true })
      await page.getByLabel('Message', { exact: true }).fill('Refund both')
      await page.keyboard.press('Enter')
      const cards = page.getByRole('article', { name: 'Call to refund' })
      await untilHolds(async () => assert.equal(await cards.count(), 2))
      // A call that nobody has allowed yet is not in progress.
      assert.equal(await page.getByText('in progress …').count(), 0)
      await cards.filter({ hasText: 'order: first' }).getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Call approved. The run still waits for 1 more decision.').waitFor()
      await untilHolds(async () => assert.equal(await cards.count(), 1))
      await cards.first().getByRole('button', { name: 'Reject' }).click()
      await page.getByText('Call rejected. The run resumes.').waitFor()
      await page.getByText('Both done.').waitFor()
      assert.equal(await cards.count(), 0)
      assert.deepEqual([till.of('first').length, till.of('second').length], [1, 0])
      await leave()
    })

    test('the approvals page shows it, too', async () => {
      model.reply(TWO_REFUNDS, DONE)
      await startWaiting(service(), 'cashier', 'Refund both again')
      const { page, leave } = await visit('/approvals', { key: await approver(service()), isHurried: true })
      const cards = page.getByRole('article', { name: 'Call to refund' })
      await untilHolds(async () => assert.equal(await cards.count(), 2))
      await cards.first().getByRole('button', { name: 'Reject' }).click()
      await page.getByText('Call rejected. The run still waits for 1 more decision.').waitFor()
      await untilHolds(async () => assert.equal(await cards.count(), 1))
      await cards.first().getByRole('button', { name: 'Reject' }).click()
      await page.getByText('Call rejected. The run resumes.').waitFor()
      await leave()
    })

    test('waiting runs are no longer polled once no page shows them', async () => {
      const waiting = async (session_id: string) => {
        model.reply(TWO_REFUNDS)
        return (await startWaiting(service(), 'cashier', 'Later', { session_id })).request_id
      }
      const [left, seen] = [await waiting('left'), await waiting('seen')]
      const { go, asked, leave } = await visit('/agents/cashier?session=left', { isHurried: true })
      const isAbout = (request_id: string) => (request: string) => request.endsWith(`/invocations/${request_id}`)
      await until('the run is asked about', () => asked().some(isAbout(left)))
      await go('/files')
      await go('/agents/cashier?session=seen')
      const looks: string[] = []
      await until('the run that is shown is asked about', () => asked().some(isAbout(seen)))
      await until('it was asked about several times', () => {
        looks.push(...asked())
        return looks.filter(isAbout(seen)).length >= 5
      })
      assert.deepEqual(looks.filter(isAbout(left)), [])
      await leave()
    })

    test('a typed session ID is opened once, after the typing pauses', async () => {
      await said('typed', 'Hello')
      const { page, leave } = await visit('/agents/parrot')
      const lists: string[] = []
      page.on('request', (request) => {
        const url = new URL(request.url())
        if (url.pathname.endsWith('/invocations')) lists.push(url.searchParams.get('session_id') ?? '')
      })
      await page.getByLabel('Session', { exact: true }).pressSequentially('typed', { delay: 20 })
      await page.locator('.said').getByText('Hello').waitFor()
      assert.deepEqual(lists, ['typed'])
      await leave()
    })

    test('messages added to the session by others are there when the user comes back', async () => {
      await said('shared', 'From here')
      const { page, leave } = await visit('/agents/parrot?session=shared')
      await page.locator('.said').getByText('From here').waitFor()
      await page.getByRole('link', { name: 'Memory' }).click()
      await page.getByRole('link', { name: 'Memory', exact: true }).and(page.locator('[aria-current]')).waitFor()
      await said('shared', 'From elsewhere')
      await page.getByRole('link', { name: 'Playground' }).click()
      await page.locator('.said').getByText('From elsewhere').waitFor()
      assert.deepEqual(await page.locator('.said').allInnerTexts(), ['From here', 'From elsewhere'])
      await page.getByLabel('Message', { exact: true }).fill('And from here')
      await page.keyboard.press('Enter')
      await untilHolds(async () => assert.equal(await page.locator('.answer').last().innerText(), 'And from here'))
      assert.equal(await page.locator('.said').count(), 3)
      await leave()
    })

    test('an unsent message is kept, even after a reload', async () => {
      const { page, leave } = await visit('/agents/parrot')
      const field = page.getByLabel('Message', { exact: true })
      await field.fill('Half a sen')
      await page.getByRole('link', { name: 'Memory' }).click()
      await field.waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Playground' }).click()
      await untilHolds(async () => assert.equal(await field.inputValue(), 'Half a sen'))
      await page.reload()
      await untilHolds(async () => assert.equal(await field.inputValue(), 'Half a sen'))
      await field.press('Enter')
      await page.locator('.said').getByText('Half a sen').waitFor()
      await page.reload()
      await page.locator('.said').waitFor()
      assert.equal(await field.inputValue(), '')
      await leave()
    })

    test('a run that waits for a pause to end says so, and asks for no decision', async () => {
      await createAgent(service(), 'slow', { model: 'local/tiny' })
      const { promise, resolve } = Promise.withResolvers<void>()
      model.holdNext(promise)
      const { page, leave } = await visit('/agents/slow', { isHurried: true })
      const asked = page.waitForRequest(/\/slow\/stream|\/slow\/invoke/)
      await page.getByLabel('Message', { exact: true }).fill('Ahoy')
      await page.keyboard.press('Enter')
      await asked
      await page.getByRole('button', { name: 'Stop' }).waitFor()
      await page.locator('.facts a').waitFor()
      assert.ok((await service().call('POST', '/v1/pause', { body: { reason: 'Repairs' } })).status < 300)
      await page.getByText('The run waits: Paused').waitFor()
      assert.equal(await page.getByText('It waits for a person').count(), 0)
      model.reply({ text: ['Aye.'] })
      resolve()
      assert.ok((await service().call('POST', '/v1/resume')).status < 300)
      await page.getByText('The run waits: Paused').waitFor({ state: 'detached' })
      await leave()
    })
  },
  {
    settings: async () => {
      model = await startModelServer()
      till = await startTill()
      return {
        ...localProvider(model.url),
        MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
        MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1',
      }
    },
  },
)
