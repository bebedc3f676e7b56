import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAccess } from '../../support/clients/check-access.ts'
import { enrol } from '../../support/clients/mfa.ts'
import { inConsole } from '../../support/console/console.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

inConsole('signing in to the console', (visit, service) => {
  test('a pasted key opens the page that was asked for, and signing out ends it', async () => {
    const { page, leave, context, expect } = await visit('/agents/hello?session=s1', { key: null })
    await page.getByLabel('API key', { exact: true }).fill(service().admin)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'hello' }).waitFor()
    assert.equal(new URL(page.url()).search, '?session=s1')
    const [cookie] = await context.cookies()
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict'])
    assert.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0)
    // The page's last requests are refused.
    expect(/status of 401/)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key', { exact: true }).waitFor()
    await page.reload()
    await page.getByLabel('API key', { exact: true }).waitFor()
    await leave()
  })

  test('the next user sees nothing that the previous one had loaded', async () => {
    const { page, leave, expect } = await visit('/')
    await page.getByRole('link', { name: 'hello' }).waitFor()
    // The page's last requests are refused.
    expect(/status of 401/)
    await page.getByRole('button', { name: 'Sign out' }).click()
    const { secret } = await createKey(service(), { role: 'viewer' })
    const answered = Promise.withResolvers<void>()
    await page.route('**/v1/**', async (route) => {
      await answered.promise
      await route.continue()
    })
    await page.getByLabel('API key', { exact: true }).fill(secret)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'hello' }).count(), 0)
    answered.resolve()
    await page.getByRole('link', { name: 'hello' }).waitFor()
    await leave()
  })

  test('a wrong key is refused with the reason and the request id', async () => {
    const { page, leave, expect } = await visit('/', { key: null })
    expect(/status of 401/)
    await checkAccess(page)
    await page.getByLabel('API key', { exact: true }).fill('mrg_wrong')
    await page.keyboard.press('Enter')
    const alert = page.getByRole('alert')
    await alert.waitFor()
    assert.match(await alert.innerText(), /unauthorized[^]*req_/)
    await leave()
  })

  test('a one-time link signs in once, and its token leaves the history', async () => {
    const { body } = await service().call('POST', '/v1/console-links', { body: {} })
    const path = `#link=${body.data.token}`
    const { page, leave } = await visit(`/${path}`, { key: null })
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
    assert.equal(new URL(page.url()).hash, '')
    await leave()
    const again = await visit(`/${path}`, { key: null })
    again.expect(/status of 401/)
    await again.page.getByText('The link no longer works').waitFor()
    await again.leave()
  })

  test('a link asks before it replaces a session', async () => {
    const key = await createKey(service(), { name: 'a stranger', role: 'caller' })
    const link = async () => {
      const { body } = await service().call('POST', '/v1/console-links', { key: key.secret, body: {} })
      return `/#link=${body.data.token}`
    }
    const { page, leave } = await visit(await link())
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    await page.getByRole('button', { name: 'first admin key' }).waitFor()
    await leave()
    const other = await visit(await link())
    // The page behind the question asks for what this key may not read.
    other.expect(/status of 403/)
    await other.page.getByText('first admin key').waitFor()
    await checkAccess(other.page)
    await other.page.getByRole('button', { name: 'Use link' }).click()
    await other.page.getByRole('button', { name: 'a stranger' }).waitFor()
    await other.leave()
  })

  test('when a session ends, the console asks for the key on the same page', async () => {
    const { body } = await service().call('POST', '/v1/keys', { body: { name: 'for a while', role: 'viewer' } })
    const { id, secret } = body.data
    const { page, leave, expect, settled } = await visit('/', { key: secret, isStill: true })
    expect(/status of 401/)
    await page.getByRole('link', { name: 'hello' }).waitFor()
    // The page asks for what needs attention, too. That would end the session before the click.
    await settled()
    await service().call('DELETE', `/v1/keys/${id}`)
    await page.getByRole('link', { name: 'hello' }).click()
    await page.getByText('Your session has ended').waitFor()
    await page.getByLabel('API key', { exact: true }).fill(service().admin)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'hello' }).waitFor()
    await leave()
  })

  test("a read-only key sees no actions that it can't perform", async () => {
    const { body } = await service().call('POST', '/v1/keys', { body: { name: 'reader', role: 'viewer' } })
    const { page, leave } = await visit('/', { key: body.data.secret })
    await page.getByRole('link', { name: 'hello' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'New agent' }).count(), 0)
    await page.getByRole('link', { name: 'hello' }).click()
    await page.getByRole('heading', { name: 'hello' }).waitFor()
    assert.equal(await page.getByLabel('Message', { exact: true }).count(), 0)
    await leave()
  })

  test('two simultaneous requests that need a one-time code each ask for one', async () => {
    const key = await createKey(service(), { role: 'admin' })
    const app = await enrol(service(), key.id)
    await createAgent(service(), 'vault', { security: { mfa: { enabled: true, requiredFor: ['invoke'] } } })
    const { page, expect, leave } = await visit('/agents/vault?beside=staging', { key: key.secret })
    expect(/status of 401/)
    let refused = 0
    page.on('response', (reply) => void (refused += Number(reply.status() === 401)))
    await page.getByLabel('Message', { exact: true }).fill('Open sesame')
    await page.keyboard.press('Enter')
    const code = page.getByLabel('Code', { exact: true })
    await code.waitFor()
    // The other request is refused, too.
    await until('both are refused', () => refused >= 2)
    await code.fill(app.code())
    await page.keyboard.press('Enter')
    await page.getByText('completed').first().waitFor()
    await code.fill(app.code(1))
    await page.keyboard.press('Enter')
    await untilHolds(async () => assert.equal(await page.getByText('completed').count(), 2))
    await leave()
  })

  test('a failed sign-out says so', async () => {
    const { page, settled, expect, leave } = await visit('/')
    await settled()
    expect(/ERR_FAILED/)
    await page.route('**/console/session', (route) => route.abort())
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('Cannot reach').waitFor()
    await leave()
  })
})
