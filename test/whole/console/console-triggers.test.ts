import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { untilHolds } from '../../support/running/until.ts'
import { createAgent } from '../../support/slices/resources.ts'
import { post, setSecret, signed } from '../../support/slices/triggers.ts'

const SECRET = 'octo-secret'

const ISSUE = JSON.stringify({
  action: 'opened',
  issue: { number: 3, title: 'The map is upside down', body: 'North is at the bottom' },
  repository: { full_name: 'octo/harbour' },
  sender: { login: 'octocat' },
})

inConsole('triggers in the console', (visit, service) => {
  before(async () => {
    await createAgent(service(), 'pilot')
    await setSecret(service(), 'GITHUB_SECRET', SECRET)
  })

  test('a trigger is created, tested with an example, receives an event, which is replayed, and is deleted', async () => {
    const { page, expect, leave } = await visit('/agents/pilot/triggers')
    expect(/400/)
    await page.getByText('No triggers yet').waitFor()
    await page.getByRole('button', { name: 'New trigger' }).click()
    const form = page.getByRole('dialog', { name: 'New trigger' })
    await form.getByLabel('Name').fill('triage')
    await form.getByLabel('Secret').fill('NONE')
    await form.getByRole('button', { name: 'Create trigger' }).click()
    await form.getByText('the project has no secret named NONE', { exact: false }).first().waitFor()
    await form.getByLabel('Secret').fill('GITHUB_SECRET')
    await form.getByRole('button', { name: 'Create trigger' }).click()
    await page.getByRole('heading', { name: 'triage' }).waitFor()

    const url = await page.getByLabel('URL', { exact: true }).innerText()
    assert.ok(url.startsWith(`${service().url}/v1/in/`), url)
    await page.getByText('Add webhook', { exact: false }).waitFor()

    await page.getByRole('button', { name: 'Test', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Test trigger' })
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    const result = dialog.getByRole('region', { name: 'Result' })
    await result.getByText('accepted').waitFor()
    await result.getByText('github:octocat').waitFor()
    await dialog.getByLabel('Body (JSON)').fill(ISSUE.replace('opened', 'closed'))
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await result.getByText('filtered').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()

    const { pathname } = new URL(url)
    const sent = await post(service(), pathname, signed.github(SECRET, ISSUE))
    assert.equal(sent.status, 202, sent.text)
    assert.equal((await post(service(), pathname, signed.github('wrong', ISSUE))).status, 401)
    const deliveries = page.getByRole('table')
    await deliveries.getByText(sent.body.data.request_id).waitFor()
    await deliveries.getByText('refused').waitFor()
    await deliveries.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('Delivery replayed').waitFor()
    await untilHolds(async () => {
      const { body } = await service().call('GET', '/v1/agents/pilot/invocations')
      assert.equal(body.pagination.total, 2)
    })

    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Message' }).fill('{{/issue/title}}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByLabel('message', { exact: true }).getByText('{{/issue/title}}').waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('Trigger disabled').waitFor()
    assert.equal((await post(service(), pathname, signed.github(SECRET, ISSUE))).status, 404)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete trigger' }).click()
    await page.getByText('No triggers yet').waitFor()
    await leave()
  })

  test('a trigger answers in Slack threads: its form has what Slack needs, and its page says what to paste where', async () => {
    for (const [name, value] of Object.entries({ SIGNING: 'signing-secret', BOT: 'xoxb-1' })) {
      await service().call('PUT', `/v1/secrets/${name}`, { body: { value, hosts: ['slack.com'] } })
    }
    const { page, expect, leave } = await visit('/agents/pilot/triggers')
    expect(/400/)
    await page.getByRole('button', { name: 'New trigger' }).click()
    const form = page.getByRole('dialog', { name: 'New trigger' })
    await form.getByLabel('Sender').selectOption({ label: 'Slack: answer in threads' })
    await form.getByLabel('Name').fill('support')
    assert.equal(await form.getByLabel('User').count(), 0, 'the platform decides the user')
    await form.getByLabel('Secret').fill('SIGNING')
    await form.getByLabel('Bot token').fill('GITHUB_SECRET')
    await form.getByRole('button', { name: 'Create trigger' }).click()
    await form.getByText("can't be sent to slack.com", { exact: false }).first().waitFor()
    await form.getByLabel('Bot token').fill('BOT')
    await form.getByRole('button', { name: 'Create trigger' }).click()
    await page.getByRole('heading', { name: 'support' }).waitFor()
    await page.getByText('app_mention and message.im', { exact: false }).waitFor()
    await page.getByText('sent to the conversation').waitFor()

    await page.getByRole('button', { name: 'Edit' }).click()
    const edit = page.getByRole('dialog', { name: 'Edit trigger' })
    await edit.getByLabel('Message').fill('A question: {{text}}')
    await edit.getByRole('button', { name: 'Save' }).click()
    await page.getByLabel('message', { exact: true }).getByText('A question: {{text}}').waitFor()
    const { body } = await service().call('GET', '/v1/agents/pilot/triggers')
    const [{ kind, slack, message }] = body.data
    const bot = { bot_token: 'BOT', api_url: 'https://slack.com/api' }
    assert.deepEqual([kind, slack, message], ['slack', bot, 'A question: {{text}}'])
    await leave()
  })

  test('a trigger answers email: its form has what the provider needs', async () => {
    for (const [name, host] of Object.entries({ INBOUND: 'none.invalid', RESEND: 'api.resend.com' })) {
      await service().call('PUT', `/v1/secrets/${name}`, { body: { value: 'user:password', hosts: [host] } })
    }
    const { page, expect, leave } = await visit('/agents/pilot/triggers')
    expect(/400/)
    await page.getByRole('button', { name: 'New trigger' }).click()
    const form = page.getByRole('dialog', { name: 'New trigger' })
    await form.getByLabel('Sender').selectOption({ label: 'Email: answer messages to an address' })
    await form.getByLabel('Name').fill('mail')
    await form.getByLabel('Secret').fill('INBOUND')
    await form.getByLabel('Address').fill('help@example.org')
    await form.getByLabel('Provider').selectOption('Resend')
    await form.getByLabel('API key').fill('INBOUND')
    await form.getByRole('button', { name: 'Create trigger' }).click()
    await form.getByText("can't be sent to api.resend.com", { exact: false }).first().waitFor()
    await form.getByLabel('API key').fill('RESEND')
    await form.getByRole('button', { name: 'Create trigger' }).click()
    await page.getByRole('heading', { name: 'mail' }).waitFor()
    await page.getByText('message/rfc822', { exact: false }).waitFor()

    await page.getByRole('button', { name: 'Edit' }).click()
    const edit = page.getByRole('dialog', { name: 'Edit trigger' })
    await edit.getByLabel('Trusted mail server').fill('mx.example.org')
    await edit.getByRole('button', { name: 'Save' }).click()
    await page.getByText('mx.example.org').waitFor()
    const { body } = await service().call('GET', '/v1/agents/pilot/triggers?sort=-created_at')
    const [{ kind, verify, email }] = body.data
    const sends = { address: 'help@example.org', name: null, provider: 'resend', api_key: 'RESEND', api_url: null }
    assert.deepEqual(
      [kind, verify, email],
      ['email', { scheme: 'basic', secret: 'INBOUND' }, { ...sends, authserv_id: 'mx.example.org' }],
    )
    await leave()
  })
})
