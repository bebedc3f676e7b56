import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { wakeJobs } from '../../support/inside.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { createAgent } from '../../support/slices/resources.ts'

const INSTRUCTIONS = 'You know the tides.'

let model: ModelServer

inConsole(
  'a release that guards itself, in the console',
  (visit, service) => {
    after(() => model.close())

    test('a bad answer becomes a case; what the replay of a changed prompt does not find, the guard does', async () => {
      // With the new prompt, the model answers the question, and fails for others.
      model.replyBy(({ messages }) => {
        const said = messages.map(({ content }) => content).join(' ')
        if (!said.includes(INSTRUCTIONS)) return { text: ['No idea.'] }
        return said.includes('wind') ? { status: 400, body: { error: {} } } : { text: ['The tide is in.'] }
      })
      await createAgent(service(), 'pilot', { model: 'local/tiny', memory: { remember: false } })
      const path = '/v1/agents/pilot'
      const first = { environment: 'production', version: 'v1' }
      assert.equal((await service().call('POST', `${path}/deployments`, { body: first })).status, 201)

      const { page, leave } = await visit('/agents/pilot')
      const dialog = page.getByRole('dialog')
      const tab = (name: string) => page.getByRole('link', { name, exact: true }).click()
      await page.getByLabel('Message', { exact: true }).fill('Is the tide in?')
      await page.keyboard.press('Enter')
      await page.getByText('No idea.').waitFor()
      await page.getByRole('button', { name: 'Bad answer' }).click()
      await page.getByText('Feedback saved').waitFor()

      await tab('Replays')
      await page.getByRole('button', { name: 'New set' }).click()
      await dialog.getByLabel('Name').fill('tides')
      await dialog.getByRole('checkbox', { name: /👎 Is the tide in\?/ }).check()
      await dialog.getByRole('button', { name: 'Save set' }).click()
      await page.getByText('Set saved with 1 case').waitFor()

      await tab('Settings')
      await page.getByLabel('Instructions').fill(INSTRUCTIONS)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Draft saved').waitFor()

      await tab('Replays')
      await page.getByRole('button', { name: 'New replay' }).click()
      await dialog.getByLabel('Answers must contain').fill('tide')
      await dialog.getByRole('button', { name: 'Start replay' }).click()
      await page.getByRole('link', { name: 'draft on tides' }).click()
      await page.getByText('0 of 1 case got worse and 1 better.').waitFor()
      await page.goBack()

      await tab('Deployments')
      await page.getByRole('button', { name: 'Deploy', exact: true }).click()
      await dialog.getByLabel('Steps').fill('10:60')
      await dialog.getByRole('button', { name: 'Deploy v2 to production' }).click()
      await page.getByText('production now serves v2 for 10 %').waitFor()
      const rollout = page.getByRole('region', { name: 'v2 in production' })
      await rollout.getByText('Step 1 of 1').waitFor()
      let isOver = false
      const seen = rollout.waitFor({ state: 'detached' }).finally(() => {
        isOver = true
      })
      for (let round = 0; !isOver; round++) {
        const users = Array.from({ length: 20 }, (_, i) => `user ${round} ${i}`)
        const ask = (user_id: string) => ({ message: 'How is the wind?', context: { user_id } })
        await Promise.all(users.map((user) => service().call('POST', `${path}/invoke`, { body: ask(user) })))
        service().advance(2_000)
        wakeJobs(service())
      }
      await seen

      const history = page.getByRole('region', { name: 'Deployments' })
      await history.getByText('aborted').waitFor()
      await history.getByRole('link', { name: 'v2' }).click()
      await page.getByText(/The candidate failed (\d+) of \1 times, and the other version 0 of/).waitFor()
      await page.getByRole('link', { name: 'Example 1' }).click()
      await page.getByText('How is the wind?').first().waitFor()
      await leave()
      const { body } = await service().call('GET', `${path}/deployments?status=active`)
      assert.deepEqual(
        body.data.map(({ version }: { version: string }) => version),
        ['v1'],
      )
    })
  },
  {
    settings: async () => {
      model = await startModelServer()
      return localProvider(model.url)
    },
  },
)
