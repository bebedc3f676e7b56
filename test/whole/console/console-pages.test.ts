import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { fillForConsole, PAGES, SEED_SETTINGS } from '../../support/console/console-seed.ts'
import type { Visit } from '../../support/console/console-visit.ts'
import { filesOf } from '../../support/house/imports.ts'
import { type PrefixProxy, startPrefixProxy } from '../../support/outside/prefix-proxy.ts'
import { untilHolds } from '../../support/running/until.ts'

const BUILT = new URL('../../../dist/console/', import.meta.url)
const MOST_REQUESTS = 3
/** What the frame of all pages asks now and then, a second or two after a page was opened. */
const OF_THE_FRAME = /\/v1\/(pause|approvals)$/

/** Something that each page has from the store. */
const SHOWN: Record<(typeof PAGES)[number], string> = {
  agents: 'night-watch',
  playground: 'Which mooring rope of 12 mm',
  deployments: 'Knows the stock',
  deployment: 'v1.1.0 in production',
  logs: 'Invocation completed',
  metrics: '3 (1',
  memory: 'Do you have a mooring rope',
  schedules: 'Morning round',
  share: 'Questions about ropes',
  triggers: 'Orders',
  trigger: 'New order: {{/item}}',
  settings: 'Be brief and friendly',
  'settings-tools': 'Pays money back',
  'settings-yaml': 'the stock system did not answer',
  activity: 'How long does a refund take?',
  request: 'customer-',
  approvals: 'amount: 250',
  feedback: 'That is a rope for anchors',
  files: 'berths.csv',
  usage: 'builtin/script',
  budgets: 'Support, monthly',
  prices: 'moorage.yaml',
  system: 'SQLite',
  audit: 'createAgent',
  sessions: 'this one',
  configuration: 'webhooks.allowInsecure',
  webhooks: '127.0.0.1:4999',
  webhook: 'agent.failed',
  delivery: 'Request body',
  connections: 'local',
  secrets: 'SHOP_TOKEN',
  keys: 'shop backend',
  key: 'reports',
  projects: 'with the service',
}

inConsole(
  'the pages of the console',
  (visit, service) => {
    let proxy: PrefixProxy
    let paths: Awaited<ReturnType<typeof fillForConsole>>
    let window: Visit
    before(async () => {
      proxy = await startPrefixProxy(service().url, '/tools/moorage')
      paths = await fillForConsole(service(), { perHour: 1 })
      window = await visit('/', { url: proxy.url, isStill: true })
    })
    after(async () => {
      await window.leave()
      await proxy.close()
    })

    for (const name of PAGES) {
      test(`${name}: opens with a path prefix, at most ${MOST_REQUESTS} requests and no error, and is accessible`, async () => {
        const { page, asked, settled, checkWell } = window
        await page.goto(proxy.url + paths[name])
        await untilShown(page, SHOWN[name])
        await settled()
        const requests = asked().filter((request) => request.includes('/v1/') && !OF_THE_FRAME.test(request))
        assert.ok(requests.length <= MOST_REQUESTS, requests.join('\n'))
        assert.equal(await page.locator('.failure').count(), 0)
        assert.match(await page.title(), /Moorage$/)
        assert.deepEqual(await page.evaluate(ASTRAY), [], 'links that lose the prefix')
        await checkAccess(page)
        checkWell()
      })
    }

    test(`agents: needs at most ${MOST_REQUESTS} requests for a user who has finished the first steps, too`, async () => {
      const { page, asked, settled, checkWell } = window
      await page.evaluate(`localStorage.setItem('first-steps', 'done')`)
      await page.goto(`${proxy.url}/`)
      await page.getByRole('region', { name: 'Needs attention' }).waitFor()
      await settled()
      const requests = asked().filter((request) => request.includes('/v1/') && !OF_THE_FRAME.test(request))
      assert.ok(requests.length <= MOST_REQUESTS, requests.join('\n'))
      checkWell()
    })

    test('the first paint is measured, and an unknown path shows that the page was not found', async (t) => {
      const { page, leave } = await visit('/agents/support/nonsense')
      await page.getByText('Page not found').waitFor()
      await page.goto(`${service().url}/`)
      await page.getByRole('link', { name: 'support' }).waitFor()
      const paint = await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)
      t.diagnostic(`first paint after ${paint} ms`)
      assert.ok(Number(paint) > 0)
      await leave()
    })
  },
  { settings: SEED_SETTINGS },
)

const ASTRAY = `[...document.links]
  .filter(({ origin, pathname }) => origin === location.origin && !pathname.startsWith('/tools/moorage/'))
  .map(({ outerHTML }) => outerHTML)`

const TEXT = `document.body.innerText + [...document.querySelectorAll('input, textarea')].map(({ value }) => value)`

/** In the text of the page, or in its fields. */
const untilShown = (page: Page, text: string) =>
  untilHolds(async () => {
    const shown = String(await page.evaluate(TEXT))
    assert.ok(shown.includes(text), `${page.url()} does not show ${text}, but:\n${shown}`)
  })

describe('the size of the console', () => {
  const assets = new URL('assets/', BUILT)
  const packed = (file: string) => gzipSync(readFileSync(new URL(file, assets)), { level: 9 }).length

  /** Loaded when the YAML editor or the form of a schedule is opened: libraries that read YAML and cron patterns. */
  const isReader = (file: string) => /^(definition-yaml|croner)-/.test(file)
  /** Loaded when an agent is made. */
  const isGallery = (file: string) => file.startsWith('gallery-')
  /** Only on the page of a link. */
  const isChat = (file: string) => /^(shared-)?chat-/.test(file)

  test('is at most 42 KB of script at first, and 140 KB in all, with 50 KB for reading YAML and cron patterns, and 5 KB of examples', () => {
    const page = readFileSync(new URL('index.html', BUILT), 'utf8')
    const first = [...page.matchAll(/assets\/([\w.-]+\.js)"/g)].map(([, file]) => file ?? '')
    const all = readdirSync(assets)
    const sum = (files: string[]) => files.reduce((bytes, file) => bytes + packed(file), 0)
    assert.ok(first.length > 1 && sum(first) <= 42 * 1024, `${sum(first)} bytes`)
    const readers = all.filter(isReader)
    assert.equal(readers.length, 2)
    assert.ok(sum(readers) <= 50 * 1024, `${sum(readers)} bytes`)
    const gallery = all.filter(isGallery)
    assert.ok(gallery.length === 1 && sum(gallery) <= 5 * 1024, `${sum(gallery)} bytes`)
    const others = all.filter((file) => !isReader(file) && !isGallery(file) && !isChat(file))
    assert.ok(sum(others) <= 140 * 1024, `${sum(others)} bytes`)
  })

  test("the chat's page has at most 20 KB of script", () => {
    const page = readFileSync(new URL('chat.html', BUILT), 'utf8')
    const scripts = [...page.matchAll(/assets\/([\w.-]+\.js)"/g)].map(([, file]) => file ?? '')
    const size = scripts.reduce((bytes, file) => bytes + packed(file), 0)
    assert.ok(scripts.length > 1 && size <= 20 * 1024, `${size} bytes`)
  })

  test("no CSS class is defined in two files, so no page changes another's look", () => {
    const folder = new URL('../../../console/css/', import.meta.url)
    const described = filesOf(fileURLToPath(folder), ['.css']).flatMap(({ text }) => {
      const names = text.matchAll(/^\.([\w-]+) \{/gm)
      return [...new Set([...names].map(([, name]) => name))]
    })
    const twice = described.filter((name, i) => described.indexOf(name) !== i)
    assert.ok(described.length > 50)
    assert.deepEqual(twice, [])
  })

  test('the page contains no inline script or style', () => {
    const page = readFileSync(new URL('index.html', BUILT), 'utf8')
    assert.doesNotMatch(page, /<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|https?:/)
  })
})
