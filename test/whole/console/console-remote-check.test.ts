import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { startA2aServer } from '../../support/outside/a2a-server.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { newAgent } from '../../support/service/agents.ts'
import { newRemoteAgent, setRemoteSecret, startRemote } from '../../support/slices/remote-agents.ts'
import { createKey } from '../../support/slices/resources.ts'

inConsole(
  'the check of a remote agent in the console',
  (visit, service) => {
    test('settings: each point is shown, with what was found or why it failed', async (t) => {
      const remote = await startRemote()
      t.after(() => remote.close())
      await setRemoteSecret(service())
      await newRemoteAgent(service(), remote.url, { name: 'harbour' })
      remote.answer(async (run) => {
        const anew = run.attempt > 1 ? 'again' : 'berth'
        return run.message === 'Hello' ? 'Ahoy.' : `Berth ${await run.keep(anew, () => 7)}`
      })
      const { page, leave } = await visit('/agents/harbour/settings')
      const check = page.getByRole('region', { name: 'Check' })
      await check.getByRole('button', { name: 'Run check' }).click()
      await check.getByText('No checks failed').waitFor()
      const points = check.getByRole('listitem')
      assert.equal(await points.count(), 7)
      assert.equal(await points.nth(0).innerText(), 'ok\na signed call is answered\n0 steps requested')
      assert.match(await points.nth(4).innerText(), /^not tried\n[^]*\nit requested no step$/)
      await check.getByLabel('Message').fill('A berth for Aurora')
      await check.getByRole('button', { name: 'Run check' }).click()
      await check.getByText('1 of 7 checks failed').waitFor()
      const wrong = points.filter({ has: page.locator('.wrong') })
      assert.match(await wrong.innerText(), /^failed\nsteps with results [^]*it requested again \(step\.keep\)/)
      await leave()
    })

    test("settings: for an A2A agent, the card is checked; a user who can't change the agent sees no check", async (t) => {
      const far = await startA2aServer()
      t.after(() => far.close())
      await newAgent(service(), { name: 'far', kind: 'remote', remote: { a2a: far.card } })
      const { page, leave } = await visit('/agents/far/settings')
      const check = page.getByRole('region', { name: 'Check' })
      await check.getByRole('button', { name: 'Run check' }).click()
      await check.getByText('its answers are streamed').waitFor()
      assert.equal(await check.getByLabel('Message').count(), 0)
      await leave()
      const { secret: key } = await createKey(service(), { permissions: ['read'] })
      const reader = await visit('/agents/far/settings', { key })
      await reader.page.getByText("You're editing the draft").waitFor()
      assert.equal(await reader.page.getByRole('button', { name: 'Run check' }).count(), 0)
      await reader.leave()
    })
  },
  { settings: LOCAL_TOOLS },
)
