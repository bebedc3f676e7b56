import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrol } from '../../support/clients/mfa.ts'
import { inConsole } from '../../support/console/console.ts'
import { stopApp } from '../../support/inside.ts'
import { until } from '../../support/running/until.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'
import { unusedPort } from '../../support/stores/daemon.ts'

const MARKUP = `<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>"'>javascript:alert(1)`

/** All text of a page, that in its fields too. */
const SHOWN = `document.body.innerText + [...document.querySelectorAll('input, textarea')].map(({ value }) => value)`

inConsole(
  'a console whose service restarts',
  (visit, service) => {
    test('a service that restarts: what is shown stays, the error can be retried, the session continues', async () => {
      const { page, leave, expect } = await visit('/')
      expect(/ERR_CONNECTION|ERR_EMPTY|status of 50\d/)
      await page.getByRole('link', { name: 'hello' }).waitFor()
      await stopApp(service())
      await page.getByRole('link', { name: 'hello' }).click()
      await page.getByRole('alert').getByText('unreachable').waitFor()
      await service().restart()
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('running').first().waitFor()
      await leave()
    })
  },
  { settings: async () => ({ PORT: String(await unusedPort()) }) },
)

inConsole(
  'a console whose service requires one-time codes',
  (visit, service) => {
    test('a required one-time code is requested, and again after a wrong one', async () => {
      const { id, secret } = await createKey(service(), { role: 'admin' })
      const app = await enrol(service(), id)
      const { page, leave, expect } = await visit('/agents/hello/deployments', { key: secret })
      expect(/status of 401/)
      await page.getByRole('button', { name: 'Deploy' }).click()
      await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
      const dialog = page.getByRole('dialog', { name: 'One-time code' })
      await dialog.getByLabel('Code').fill(app.wrong())
      await page.keyboard.press('Enter')
      await dialog.locator('[aria-invalid=true]').waitFor()
      await dialog.getByLabel('Code').fill(app.code())
      await page.keyboard.press('Enter')
      await page.getByText('production now serves v1').waitFor()
      await leave()
    })
  },
  { settings: { MOORAGE_SECURITY__MFA__ENABLED: 'true', MOORAGE_SECURITY__MFA__REQUIRED_FOR: 'deploy' } },
)

inConsole('the console in hard times', (visit, service) => {
  test('a key for one agent sees that agent', async () => {
    const agent_id = await createAgent(service(), 'mine')
    const { secret } = await createKey(service(), { role: 'developer', agent_id })
    const { page, leave } = await visit('/', { key: secret })
    await page.getByRole('link', { name: 'mine' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'hello' }).count(), 0)
    assert.equal(await page.getByRole('link', { name: 'System' }).count(), 0)
    await page.getByRole('link', { name: 'mine' }).click()
    await page.getByLabel('Message', { exact: true }).fill('ahoy')
    await page.keyboard.press('Enter')
    await page.getByText('completed').waitFor()
    await leave()
  })

  test('markup in every text that an agent, a caller or an operator can fill stays text', async () => {
    const script = { rules: [{ match: { contains: 'fail' }, fail: MARKUP }], fallback: MARKUP }
    await createAgent(service(), 'hostile', {
      description: MARKUP,
      instructions: MARKUP,
      model: 'builtin/script',
      script,
      metadata: { note: MARKUP },
    })
    const context = { user_id: MARKUP, session_id: MARKUP, note: MARKUP }
    const invoke = (message: string) =>
      service().call('POST', '/v1/agents/hostile/invoke', { body: { message, context } })
    const request_id = (await invoke(MARKUP)).body.data.request_id
    await invoke(`fail ${MARKUP}`)
    await service().call('POST', '/v1/agents/hostile/deployments', {
      body: { environment: 'production', version: 'v1', message: MARKUP },
    })
    const { id: key_id } = await createKey(service(), { name: MARKUP, role: 'viewer' })
    const session = encodeURIComponent(MARKUP)
    const { page, go, settled, leave } = await visit('/')
    for (const path of [
      `/agents/hostile?session=${session}`,
      '/agents/hostile/deployments',
      '/agents/hostile/logs',
      '/agents/hostile/memory',
      '/agents/hostile/settings',
      '/activity',
      `/activity/${request_id}`,
      '/keys',
      `/keys/${key_id}`,
    ]) {
      await go(path)
      await settled()
      await until(`the text of ${path}`, () => page.evaluate(`(${SHOWN}).includes('onerror=')`))
      assert.equal(await page.evaluate('globalThis.hacked'), undefined, path)
      assert.equal(await page.locator('img').count(), 0, path)
    }
    await leave()
  })
})
