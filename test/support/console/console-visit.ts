import assert from 'node:assert/strict'
import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import { PATIENCE } from '../running/patience.ts'
import { until } from '../running/until.ts'
import type { Service } from '../service/service.ts'

export type VisitOptions = {
  /** If null, the window opens without signing in. */
  key?: string | null
  width?: number
  height?: number
  dark?: boolean
  /** The reader's time zone, such as `Asia/Tokyo`, if it isn't the service's. */
  timezone?: string
  /** The time on the reader's clock, which doesn't change. */
  at?: number
  /** The URL at which the service is reached, if it isn't its own. */
  url?: string
  /** Makes a live page request every moment what it normally requests every few seconds. */
  isHurried?: boolean
  /**
   * Stops a live page from requesting what it normally requests every few seconds, so the test's duration doesn't
   * matter.
   */
  isStill?: boolean
}

export type Visit = {
  page: Page
  context: BrowserContext
  /** Opens another page as a link of the console does: only data is loaded. */
  go(path: string): Promise<void>
  /** What the page has requested from the API since it was opened or since the last call: `GET /v1/agents`. */
  asked(): string[]
  /** Resolves when no API request is in progress. A live page makes more requests later. */
  settled(): Promise<void>
  /** Resolves when nothing is in progress, whether anything was requested or not. */
  quiet(): Promise<void>
  /** Ignores a problem that the test causes itself. */
  expect(problem: RegExp): void
  /** Fails if anything went wrong in the window so far, or if anything was requested from another origin. */
  checkWell(): void
  /** Closes the window and checks it for the last time. */
  leave(): Promise<void>
}

/** Opens a window with its own profile. */
export async function visit(
  browser: Browser,
  service: Pick<Service, 'url' | 'admin'>,
  path: string,
  {
    key = service.admin,
    width = 1440,
    height = 900,
    dark = false,
    timezone,
    at,
    url = service.url,
    isHurried,
    isStill,
  }: VisitOptions,
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    ...(timezone && { timezoneId: timezone }),
  })
  context.setDefaultTimeout(120_000 * PATIENCE)
  if (at !== undefined) await context.clock.setFixedTime(at)
  if (isHurried) await context.addInitScript(HURRY)
  if (isStill) await context.addInitScript(STAND_STILL)
  if (key !== null) {
    const headers = { 'X-Moorage-Console': '1', Origin: new URL(url).origin }
    const reply = await context.request.post(`${url}/console/session`, { data: { key }, headers })
    assert.equal(reply.status(), 201, await reply.text())
  }
  const page = await context.newPage()
  const watched = watch(page, new URL(url).origin)
  const checkWell = () => assert.deepEqual(watched.problems(), [])
  await page.goto(url + path)
  return {
    page,
    context,
    go: (to) => goInside(page, new URL(url).pathname.replace(/\/$/, '') + to),
    asked: watched.asked,
    async settled() {
      await page.locator('h1').waitFor()
      await page.locator('.coming').first().waitFor({ state: 'detached' })
      // What a reply leads to is requested once it is drawn, no matter how long that takes.
      await until('the page has what it asked for', async () => {
        if (!(await watched.isQuiet())) return false
        await page.evaluate(DRAWN).catch(() => {})
        return watched.isQuiet()
      })
    },
    quiet: async () => void (await until('nothing is under way', watched.hasAll)),
    expect: watched.expect,
    checkWell,
    async leave() {
      await context.close()
      checkWell()
    },
  }
}

async function goInside(page: Page, path: string): Promise<void> {
  await page.locator('h1').waitFor()
  const isOtherPage = await page.evaluate(`{
    const before = location.pathname
    document.querySelector('h1').classList.add('left-behind')
    history.pushState(null, '', ${JSON.stringify(path)})
    dispatchEvent(new PopStateEvent('popstate'))
    location.pathname !== before
  }`)
  // The previous page stays until the new one is loaded.
  if (isOtherPage) await page.locator('h1:not(.left-behind)').waitFor()
}

/** Collects a page's problems and requests. */
function watch(page: Page, origin: string) {
  const found: string[] = []
  const allowed: RegExp[] = []
  let asked: string[] = []
  const underWay = new Set<Request>()
  let coming: Request | undefined
  let changedAt = 0
  const isOver = (request: Request) => {
    underWay.delete(request)
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
    if (request.isNavigationRequest()) coming = request
    if (/\/v1\/|\/console\/session/.test(url.pathname)) asked.push(`${request.method()} ${url.pathname}`)
    // Requests from before the sign-out may be answered after it.
    if (request.method() === 'DELETE' && url.pathname.endsWith('/console/session')) allowed.push(/status of 401/)
    underWay.add(request)
    changedAt = performance.now()
  })
  // The previous page may make requests until the new one replaces it. Nobody sees their results any more.
  page.on('framenavigated', () => {
    if (!coming) return
    asked = []
    for (const request of underWay) if (request !== coming) underWay.delete(request)
    coming = undefined
  })
  page.on('requestfinished', isOver)
  page.on('requestfailed', isOver)
  const hasAll = () => underWay.size === 0 && performance.now() - changedAt > QUIET_MS
  return {
    isQuiet: async () => asked.length > 0 && hasAll(),
    hasAll,
    // Each problem is reported only once, so the next test of the same window has only its own.
    problems: () => found.splice(0).filter((problem) => !allowed.some((pattern) => pattern.test(problem))),
    expect: (problem: RegExp) => void allowed.push(problem),
    asked() {
      const all = asked
      asked = []
      return all
    },
  }
}

/** Shorter waits are for typing, and longer ones for messages to disappear. */
const LIVE_MS = { from: 1_400, to: 6_000 }
const HURRIED_MS = 300
const HURRY = `{
  const later = setTimeout
  globalThis.setTimeout = (work, ms, ...args) =>
    later(work, ms > ${LIVE_MS.from} && ms < ${LIVE_MS.to} ? ${HURRIED_MS} : ms, ...args)
}`

const STAND_STILL = `{
  const later = setTimeout
  globalThis.setTimeout = (work, ms, ...args) => (ms > ${LIVE_MS.from} ? 0 : later(work, ms, ...args))
}`

/** A page that has a reply makes its next request sooner than this. */
const QUIET_MS = 60
const DRAWN = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))`
