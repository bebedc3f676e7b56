import assert from 'node:assert/strict'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { CHROMIUM_FLAGS, chromiumPath } from './chromium.ts'
import { PATIENCE } from './patience.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** For `describe(…, { skip: withoutChromium() }, …)`. */
export function withoutChromium(): string | false {
  return chromiumPath() ? false : 'there is no chromium here'
}

export type ConsoleBrowser = {
  /** A window of its own, signed in with a key, at a page of the console. */
  visit(service: Pick<Service, 'url' | 'admin'>, path: string, options?: VisitOptions): Promise<Visit>
  close(): Promise<void>
}

type VisitOptions = {
  /** Null opens the window without signing in. */
  key?: string | null
  width?: number
  height?: number
  dark?: boolean
}

export type Visit = {
  page: Page
  context: BrowserContext
  /** What the window asked the API for since the last time this was called: `GET /v1/agents`. */
  asked(): string[]
  /** Resolves when nothing is asked of the API any more. A live page asks again later. */
  settled(): Promise<void>
  /** Lets a problem pass that the test itself causes. */
  expect(problem: RegExp): void
  /** Closes the window. Fails if anything went wrong in it, or anything was asked of another origin. */
  leave(): Promise<void>
}

/** One real browser; each visit is a window with a profile of its own. */
export async function openBrowser(): Promise<ConsoleBrowser> {
  const executablePath = chromiumPath()
  if (!executablePath) throw new Error('there is no chromium here')
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_FLAGS })
  return {
    visit: (service, path, options = {}) => visit(browser, service, path, options),
    close: () => browser.close(),
  }
}

async function visit(
  browser: Browser,
  { url, admin }: Pick<Service, 'url' | 'admin'>,
  path: string,
  { key = admin, width = 1440, height = 900, dark = false }: VisitOptions,
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(15_000 * PATIENCE)
  if (key !== null) {
    const headers = { 'X-Moorage-Console': '1', Origin: new URL(url).origin }
    const reply = await context.request.post(`${url}/console/session`, { data: { key }, headers })
    assert.equal(reply.status(), 201, await reply.text())
  }
  const page = await context.newPage()
  const watched = watch(page, new URL(url).origin)
  await page.goto(url + path)
  return {
    page,
    context,
    asked: watched.asked,
    async settled() {
      await page.locator('h1').waitFor()
      await page.locator('.coming').first().waitFor({ state: 'detached' })
      await until('the page has what it asked for', watched.isQuiet)
    },
    expect: watched.expect,
    async leave() {
      await context.close()
      assert.deepEqual(watched.problems(), [])
    },
  }
}

/** Collects what goes wrong in a page, and what it asks for. */
function watch(page: Page, origin: string) {
  const found: string[] = []
  const allowed: RegExp[] = []
  let asked: string[] = []
  let underWay = 0
  let changedAt = 0
  const count = (by: 1 | -1) => {
    underWay += by
    changedAt = performance.now()
  }
  page.on('pageerror', (error) => found.push(`error: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      found.push(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol)) found.push(`elsewhere: ${url}`)
    if (/\/v1\/|\/console\/session/.test(url.pathname)) asked.push(`${request.method()} ${url.pathname}`)
    count(1)
  })
  page.on('requestfinished', () => count(-1))
  page.on('requestfailed', () => count(-1))
  return {
    isQuiet: async () => asked.length > 0 && underWay === 0 && performance.now() - changedAt > QUIET_MS,
    problems: () => found.filter((problem) => !allowed.some((pattern) => pattern.test(problem))),
    expect: (problem: RegExp) => void allowed.push(problem),
    asked() {
      const before = asked
      asked = []
      return before
    },
  }
}

/** A page that has an answer asks its next question sooner than that. */
const QUIET_MS = 60

type Finding = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

/** Everything is checked in light on a desk and in dark on a phone; what else may differ there is the contrast. */
const STATES = [
  { width: 1440, dark: false, rules: undefined },
  { width: 390, dark: true, rules: undefined },
  { width: 390, dark: false, rules: ['color-contrast'] },
  { width: 1440, dark: true, rules: ['color-contrast'] },
]

/** Nothing serious for those who do not see, or do not use a mouse: in light and dark, on a desk and on a phone. */
export async function checkAccess(page: Page): Promise<void> {
  const hasAxe = await page.evaluate(`'axe' in globalThis`)
  if (!hasAxe) await page.evaluate(axe.source)
  for (const { width, dark, rules } of STATES) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
    const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })
    const found = (await page.evaluate(
      `axe.run(document, ${options}).then(({ violations }) => violations)`,
    )) as Finding[]
    const serious = found.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    const told = serious.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
    )
    assert.deepEqual(told, [], `${page.url()} at ${width} px, ${dark ? 'dark' : 'light'}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.ok(Number(overflow) <= 0, `${page.url()} at ${width} px is wider than the window`)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
}
