import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { loseRun } from '../../support/inside.ts'
import { type SpeakingModel, startSpeakingModel } from '../../support/outside/speaking-model.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { inProject } from '../../support/service/service.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { approver, startWaiting } from '../../support/slices/approvals.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

let model: SpeakingModel

inConsole(
  'the playground',
  (visit, service) => {
    before(() => createAgent(service(), 'sailor', { model: 'local/parrot' }))
    after(() => model.close())

    test('shows the answer as it arrives; a reload loses nothing', async () => {
      const { page, leave } = await visit('/agents/sailor')
      await page.getByLabel('User').fill('ann')
      await page.getByLabel('Message', { exact: true }).fill('Tell me of the sea')
      await page.keyboard.press('Enter')
      const speech = await model.next()
      speech.say('It is wide')
      await page.getByText('It is wide').waitFor()
      assert.match(page.url(), /session=play-\w+/)
      await page.reload()
      await page.getByText('It is wide').waitFor()
      await page.getByText('Tell me of the sea', { exact: true }).waitFor()
      speech.say(', and deep.')
      await page.getByText('It is wide, and deep.').waitFor()
      speech.finish()
      await page.getByRole('complementary', { name: 'About this answer' }).getByText('model').waitFor()
      await page.getByText('completed').waitFor()
      await leave()
      const { body } = await service().call('GET', '/v1/agents/sailor/invocations')
      assert.deepEqual([body.pagination.total, body.data[0].context.user_id], [1, 'ann'])
    })

    test("shows the text of a run that starts again instead of its first attempt's", async () => {
      const { body } = await service().call('POST', '/v1/agents/sailor/invoke', {
        body: { message: 'How is the weather?', context: { session_id: 'play-again' } },
        headers: { Prefer: 'respond-async' },
      })
      const dead = await model.next()
      dead.say('Foggy')
      const { page, leave } = await visit('/agents/sailor?session=play-again')
      await page.getByText('Foggy', { exact: true }).waitFor()
      await loseRun(service(), body.data.request_id)
      const again = await model.next()
      again.say('Bright')
      await page.getByText('Bright', { exact: true }).waitFor()
      again.finish()
      await page.getByText('completed').waitFor()
      await leave()
    })

    test('stops an answer, sends the message again, and edits it in a new session', async () => {
      const { page, leave } = await visit('/agents/sailor')
      await page.getByLabel('Message', { exact: true }).fill('Count the waves')
      await page.keyboard.press('Enter')
      const speech = await model.next()
      speech.say('One, two')
      await page.getByText('One, two').waitFor()
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByText('cancelled').waitFor()
      await page.getByText('One, two').waitFor()
      await page.getByRole('button', { name: 'Send again' }).click()
      const again = await model.next()
      again.say('Uncountable.')
      again.finish()
      await page.getByText('Uncountable.').waitFor()
      await page.getByText('completed').waitFor()
      assert.deepEqual(model.messages.slice(-2), ['Count the waves', 'Count the waves'])
      await page.getByRole('button', { name: 'Edit in a new session' }).first().click()
      const field = page.getByLabel('Message', { exact: true })
      await untilHolds(async () => assert.equal(await field.inputValue(), 'Count the waves'))
      assert.doesNotMatch(page.url(), /session=/)
      await page.goBack()
      await page.getByText('Uncountable.').waitFor()
      await leave()
    })

    test('continues while the reader looks at another page', async () => {
      const { page, leave } = await visit('/agents/sailor')
      await page.getByLabel('Message', { exact: true }).fill('Whistle')
      await page.keyboard.press('Enter')
      const speech = await model.next()
      speech.say('Tra')
      await page.getByText('Tra').waitFor()
      await page.getByRole('link', { name: 'Logs' }).click()
      speech.say('la')
      speech.finish()
      await page.getByText('Invocation completed').first().waitFor()
      await page.getByRole('link', { name: 'Playground' }).click()
      await page.getByText('Trala').waitFor()
      await leave()
    })

    test('shows an error with its code, and the same call as curl, TypeScript and Python', async () => {
      await service().call('POST', '/v1/agents', {
        body: { name: 'grump', model: 'builtin/script', script: { rules: [{ fail: 'not today' }] } },
      })
      const { page, leave } = await visit('/agents/grump')
      await page.getByLabel('Message', { exact: true }).fill("It's me")
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('not today').waitFor()
      await page.getByText('failed', { exact: true }).waitFor()
      const call = page.getByLabel('call', { exact: true })
      await call.getByText('/v1/agents/grump/invoke').waitFor()
      assert.match(await call.innerText(), /^curl -X POST 'http:[^']+\/v1\/agents\/grump\/invoke'[^]*It'\\''s me/)
      await page.getByRole('button', { name: 'TypeScript' }).click()
      await call.getByText('moorage.agents').waitFor()
      assert.match(await call.innerText(), /moorage\.agents\.invoke\('grump', \{[^]*message: "It's me"/)
      await page.getByRole('button', { name: 'Python' }).click()
      await call.getByText('requests.post').waitFor()
      assert.match(await call.innerText(), /requests\.post\([^]*"message": "It's me"/)
      await leave()
    })

    test('a run that waits for a person says so, and continues in the conversation once someone has decided', async () => {
      const url = 'https://shop.example.com/refunds'
      const body = {
        name: 'cashier',
        model: 'builtin/script',
        tools: [
          { type: 'http', name: 'refund', description: 'Pays money back', method: 'POST', url, approval: 'always' },
        ],
        script: { rules: [{ call: { tool: 'refund', arguments: {} }, reply: 'That is settled.' }] },
      }
      assert.equal((await service().call('POST', '/v1/agents', { body })).status, 201)
      const { page, asked, leave } = await visit('/agents/cashier', { isHurried: true })
      await page.getByLabel('Message', { exact: true }).fill('Money back, please')
      await page.keyboard.press('Enter')
      await page.getByText('The run waits for a person to decide.').waitFor()
      await page.reload()
      await page.getByText('The run waits for a person to decide.').waitFor()
      assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0)
      let looks = 0
      await until('it has looked every few seconds whether it goes on', () => {
        looks += asked().filter((one) => one.startsWith('GET /v1/agents/cashier/invocations/req_')).length
        return looks >= 5
      })
      const what = page.getByRole('link', { name: 'Go to approvals' })
      const { data } = (await service().call('GET', '/v1/approvals')).body
      const { agent_id, request_id, call_id } = data[0]
      assert.match((await what.getAttribute('href')) ?? '', new RegExp(`/approvals\\?request=${request_id}$`))
      const path = `/v1/agents/${agent_id}/invocations/${request_id}/approvals/${call_id}`
      const key = await approver(service())
      const decided = await service().call('POST', path, { key, body: { decision: 'reject' } })
      assert.equal(decided.status, 200, decided.text)
      await page.getByText('That is settled.').waitFor()
      await page.getByText('completed').waitFor()
      await leave()
    })

    test('sessions with the same name in two projects are different conversations', async () => {
      assert.equal((await service().call('POST', '/v1/projects', { body: { name: 'port' } })).status, 201)
      for (const [project, message] of [
        [service(), 'We are at sea'],
        [inProject(service(), 'port'), 'We are ashore'],
      ] as const) {
        await createAgent(project, 'twin')
        const body = { message, context: { session_id: 'trip' } }
        assert.equal((await project.call('POST', '/v1/agents/twin/invoke', { body })).status, 200)
      }
      const { page, go, leave } = await visit('/agents/twin?session=trip')
      await page.getByText('We are at sea').first().waitFor()
      const field = page.getByLabel('Message', { exact: true })
      await field.fill('Not sent yet')
      await go('/agents/twin?session=trip&project=port')
      await page.getByText('We are ashore').first().waitFor()
      assert.equal(await page.getByText('We are at sea').count(), 0)
      // What was typed for one agent is not offered to the other.
      assert.equal(await field.inputValue(), '')
      await go('/agents/twin?session=trip&project=default')
      await untilHolds(async () => assert.equal(await field.inputValue(), 'Not sent yet'))
      await leave()
      assert.equal((await service().call('DELETE', '/v1/projects/port?name=port')).status, 200)
    })

    test('a conversation ends with the console session: the next user has a new one, and the first is not polled', async () => {
      const tools = [{ type: 'ask_person' }]
      const call = { tool: 'ask_person', arguments: { question: 'Which berth?' } }
      const agent = { model: 'builtin/script', tools, script: { rules: [{ call, reply: 'Berth {{result}}' }] } }
      const begin = async (name: string, message: string) => {
        assert.equal((await service().call('POST', '/v1/projects', { body: { name } })).status, 201)
        const project = inProject(service(), name)
        await createAgent(project, 'bosun', agent)
        const { request_id, path } = await startWaiting(project, 'bosun', message, { session_id: 'watch' })
        const { secret } = await createKey(project, { role: 'developer' })
        return { request_id, secret, receipt: (await project.call('GET', path)).text }
      }
      const first = await begin('north', 'We are in the north')
      const second = await begin('south', 'We are in the south')

      const { page, asked, expect, leave } = await visit('/agents/bosun?session=watch', {
        key: first.secret,
        isHurried: true,
      })
      await page.locator('.said').getByText('We are in the north').waitFor()
      const [isAsked, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      await page.route(`**/invocations/${first.request_id}`, async (route) => {
        isAsked.resolve()
        await isReleased.promise
        // The page may have given up on it.
        await route.fulfill({ contentType: 'application/json', body: first.receipt }).catch(() => {})
      })
      await isAsked.promise
      expect(/status of 401/)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('API key', { exact: true }).fill(second.secret)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.locator('.said').first().waitFor()
      assert.deepEqual(await page.locator('.said').allInnerTexts(), ['We are in the south'])

      asked()
      isReleased.resolve()
      const looks: string[] = []
      await until('it has looked several times whether the second one goes on', () => {
        looks.push(...asked().filter((one) => one.includes('/invocations/req_')))
        return looks.filter((one) => one.endsWith(second.request_id)).length >= 5
      })
      assert.deepEqual(
        looks.filter((one) => one.endsWith(first.request_id)),
        [],
      )
      await leave()
      for (const name of ['north', 'south'])
        assert.equal((await service().call('DELETE', `/v1/projects/${name}?name=${name}`)).status, 200)
    })

    test('asks two versions side by side', async () => {
      const rules = (reply: string) => ({ script: { rules: [{ reply }] } })
      await service().call('POST', '/v1/agents', {
        body: { name: 'twins', model: 'builtin/script', ...rules('the first') },
      })
      const deploy = (environment: string, version: string) =>
        service().call('POST', '/v1/agents/twins/deployments', { body: { environment, version } })
      await deploy('production', 'v1')
      await service().call('PATCH', '/v1/agents/twins', { body: rules('the second') })
      await deploy('staging', 'v2')
      const { page, leave } = await visit('/agents/twins')
      await page.getByLabel('Compare with').selectOption('staging')
      await page.getByLabel('Message', { exact: true }).fill('Who is it?')
      await page.keyboard.press('Enter')
      await page.getByText('the first').waitFor()
      await page.getByText('the second').waitFor()
      await page.reload()
      await page.getByText('the first').waitFor()
      await page.getByText('the second').waitFor()
      await leave()
    })

    test('Stop before the answer has started takes effect as soon as it has', async () => {
      const { page, leave } = await visit('/agents/sailor')
      const { promise, resolve } = Promise.withResolvers<void>()
      await page.route('**/invoke', async (route) => {
        await promise
        await route.continue()
      })
      await page.getByLabel('Message', { exact: true }).fill('Count the gulls')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Stop' }).click()
      resolve()
      await page.getByText('cancelled').waitFor()
      await leave()
    })

    test('a new session keeps the unsent message', async () => {
      const { page, leave } = await visit('/agents/hello?session=old')
      const message = page.getByLabel('Message', { exact: true })
      await message.fill('A long thought')
      await page.getByRole('button', { name: 'New session' }).click()
      await page.waitForURL((url) => !url.search.includes('session'))
      assert.equal(await message.inputValue(), 'A long thought')
      await leave()
    })

    test('a message is sent to the session that was just typed', async () => {
      const { page, leave } = await visit('/agents/hello')
      const message = page.getByLabel('Message', { exact: true })
      await message.fill('Ahoy')
      await page.getByLabel('Session', { exact: true }).fill('trip-7')
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByText('completed').waitFor()
      assert.match(page.url(), /session=trip-7/)
      const { body } = await service().call('GET', '/v1/agents/hello/invocations?session_id=trip-7')
      assert.equal(body.pagination.total, 1)
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
