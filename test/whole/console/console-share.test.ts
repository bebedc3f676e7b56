import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { startLocalServer } from '../../support/outside/local-server.ts'
import { untilHolds } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { createLink } from '../../support/slices/links.ts'

const HOSTILE =
  '<img src=x onerror="document.title=1"><script>document.title=2</script>[tide](javascript:document.title=3)'

const TALKS = {
  model: 'builtin/script',
  approvals: { self: true },
  tools: [{ type: 'ask_person' }],
  script: {
    rules: [
      {
        match: { contains: 'berth' },
        call: { tool: 'ask_person', arguments: { question: 'Which berth?' } },
        reply: 'Number {{result}} is yours.',
      },
      { match: { contains: 'hostile' }, reply: `${HOSTILE} **strong** ![pixel](https://elsewhere.example/p.png)` },
      { match: { contains: 'slow' }, reply: 'never', delay_ms: 60_000 },
      { reply: '# High tide\n\n- at **six**\n\n| Port | Time |\n|---|---|\n| Kiel | 6:10 |\n\n```sh\nls\n```' },
    ],
  },
}

inConsole('sharing an agent', (visit, service) => {
  const shared = async (body: object = {}) => {
    const agent = await newAgent(service(), TALKS)
    return { agent, link: await createLink(service(), agent, body) }
  }
  const talk = (page: Page) => page.getByRole('list', { name: 'Conversation' })
  const say = async (page: Page, text: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text)
    await page.keyboard.press('Enter')
  }

  test('a visitor talks, answers a question, rates, reloads and begins anew, with the keyboard', async () => {
    const { link } = await shared({
      name: 'Harbour help',
      welcome: 'Ahoy! Ask me **anything**.',
      starters: ['When is high tide?'],
    })
    const { page, leave } = await visit(link.url, { key: null })
    await page.getByRole('heading', { name: 'Harbour help' }).waitFor()
    assert.equal(await page.title(), 'Harbour help')
    await page.getByRole('button', { name: 'When is high tide?' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('cell', { name: '6:10' }).waitFor()
    const good = page.getByRole('button', { name: 'Good answer' })
    await good.focus()
    await page.keyboard.press('Enter')
    await untilHolds(async () => assert.equal(await good.getAttribute('aria-pressed'), 'true'))
    await say(page, 'A berth, please')
    await page.getByLabel('Which berth?').fill('4')
    await page.keyboard.press('Enter')
    await talk(page).getByText('is yours').waitFor()
    await checkAccess(page, { isStrict: true })
    await page.reload()
    await talk(page).getByText('is yours').waitFor()
    assert.equal(await good.first().getAttribute('aria-pressed'), 'true')
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByRole('button', { name: 'When is high tide?' }).waitFor()
    assert.equal(await talk(page).getByText('is yours').count(), 0)
    await leave()
  })

  test('what names and answers say stays text, and nothing is asked of other hosts', async () => {
    const { link } = await shared({ name: `</script>${HOSTILE}`, welcome: HOSTILE, starters: [HOSTILE] })
    const { page, leave } = await visit(link.url, { key: null })
    await say(page, `hostile ${HOSTILE}`)
    await talk(page).getByText('strong', { exact: true }).waitFor()
    assert.equal(await page.title(), `</script>${HOSTILE}`)
    assert.equal(await page.locator('img').count(), 0)
    assert.equal(await page.locator('a[href^="javascript"]').count(), 0)
    await leave()
  })

  test('the page says what may show it, and a chat that has ended says so politely', async () => {
    const expires_at = new Date(service().now() + 60_000).toISOString()
    const { link } = await shared({ origins: ['https://shop.example.com'], expires_at })
    const opened = await fetch(service().url + link.url)
    const policy = opened.headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; script-src 'self';.*; frame-ancestors https:\/\/shop\.example\.com$/)
    assert.equal(opened.headers.get('x-frame-options'), null)
    assert.equal(opened.headers.get('cache-control'), 'no-store')
    assert.match(opened.headers.getSetCookie().join(), /^moorage-chat-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax/)
    const widget = await fetch(`${service().url}/chat/widget.js`)
    assert.equal(widget.headers.get('cross-origin-resource-policy'), 'cross-origin')
    assert.ok(gzipSync(await widget.text()).length < 15_000)
    assert.equal((await fetch(`${service().url}/chat/assets/..%2Findex.html`)).status, 404)
    service().advance(60_000)
    const ended = await fetch(service().url + link.url)
    assert.deepEqual([ended.status, await ended.text()], [404, 'This chat has ended.\n'])
    const unknown = await fetch(`${service().url}/chat/${'x'.repeat(32)}`)
    assert.deepEqual([unknown.status, await unknown.text()], [404, "This chat doesn't exist, or it has ended.\n"])
  })

  test('an answer under way is stopped, or followed after a reload; limits end politely', async () => {
    const { link } = await shared({ limits: { messages_per_visitor: 2 } })
    const { page, leave, expect } = await visit(link.url, { key: null, width: 390, height: 780 })
    await say(page, 'slow')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped').waitFor()
    await say(page, 'tide')
    await page.getByRole('heading', { name: 'High tide' }).waitFor()
    expect(/429/)
    await say(page, 'once more')
    await talk(page).getByText('This chat has reached its limit').waitFor()
    await leave()
  })

  test('the console creates a link, shows its URL and script once it exists, and deletes it', async () => {
    const agent = await newAgent(service(), TALKS)
    const { page, leave, expect } = await visit(`/agents/${agent}/share`)
    const dialog = page.getByRole('dialog')
    await page.getByText('No links yet').waitFor()
    await page.getByRole('button', { name: 'New link' }).click()
    await dialog.getByLabel('Title').fill('Harbour help')
    await dialog.getByLabel('Suggested messages').fill('When is high tide?\n\nWhich berth is free?')
    await dialog.getByLabel('Sites that can embed the chat').fill('www.example.com')
    await dialog.getByLabel('Cost (US$)').fill('many')
    expect(/400/)
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await dialog.getByText('must be an exact origin').waitFor()
    await dialog.getByLabel('Cost (US$)').fill('2.5')
    await dialog.getByLabel('Sites that can embed the chat').fill('https://www.example.com')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await dialog.getByText('data-chat="').waitFor()
    await checkAccess(page)
    const [stored] = (await service().call('GET', `/v1/agents/${agent}/links`)).body.data
    assert.equal(await dialog.getByLabel('URL', { exact: true }).textContent(), service().url + stored.url)
    assert.deepEqual(
      [stored.starters, stored.limits],
      [['When is high tide?', 'Which berth is free?'], { messages_per_visitor: 50, cost_usd: 2.5 }],
    )
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No links yet').waitFor()
    await leave()
  })

  test('a page of a listed origin embeds it, and no other page does', async () => {
    const site = await startLocalServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(
        `<!doctype html><title>Shop</title><body><script src="${service().url}/chat/widget.js" data-chat="${chat}" data-label="Help"></script>`,
      )
    })
    let chat = ''
    try {
      const { link } = await shared({ name: 'Shop help', origins: [new URL(site.url).origin] })
      const { link: closed } = await shared({ name: 'Closed' })
      const { page, context } = await visit(link.url, { key: null })
      chat = service().url + link.url
      const shop = await context.newPage()
      await shop.goto(site.url)
      await shop.getByRole('button', { name: 'Help' }).click()
      const frame = shop.frameLocator('iframe')
      await frame.getByRole('heading', { name: 'Shop help' }).waitFor()
      await frame.getByRole('textbox', { name: 'Message' }).fill('tide')
      await shop.keyboard.press('Enter')
      await frame.getByRole('cell', { name: '6:10' }).waitFor()
      await shop.keyboard.press('Escape')
      await untilHolds(async () =>
        assert.equal(await shop.getByRole('button', { name: 'Help' }).getAttribute('aria-expanded'), 'false'),
      )
      chat = service().url + closed.url
      await shop.goto(site.url)
      await shop.getByRole('button', { name: 'Help' }).click()
      await untilHolds(() => assert.ok(shop.frames().some((one) => one.url().startsWith('chrome-error:'))))
      await page.close()
    } finally {
      await site.close()
    }
  })
})
