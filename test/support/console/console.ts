import { after, before, describe } from 'node:test'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { type Engine, type Service, type Settings, startService } from '../service/service.ts'
import { CHROMIUM_FLAGS, chromiumPath } from './chromium.ts'
import { type Visit, type VisitOptions, visit } from './console-visit.ts'

/** For `describe(…, { skip: withoutChromium() }, …)`. */
export function withoutChromium(): string | false {
  return chromiumPath() ? false : 'Chromium is not installed'
}

export type ConsoleBrowser = {
  /** Opens a separate window on a console page, signed in with a key. */
  visit(service: Pick<Service, 'url' | 'admin'>, path: string, options?: VisitOptions): Promise<Visit>
  close(): Promise<void>
}

/**
 * A story that runs in a browser. `visit` opens a window of the console of a service that exists only for this story.
 */
type Story = (visit: (path: string, options?: VisitOptions) => Promise<Visit>, service: () => Service) => void

type StoryOptions = {
  /** What pages request is tested on both engines elsewhere. */
  engine?: Engine
  settings?: Settings | (() => Promise<Settings>)
  /** The clock of the service. */
  now?: () => number
}

export function inConsole(
  name: string,
  story: Story,
  { engine = 'sqlite', settings = {}, now }: StoryOptions = {},
): void {
  describe(name, { skip: withoutChromium() }, () => {
    let browser: ConsoleBrowser
    let service: Service
    before(async () => {
      const given = typeof settings === 'function' ? await settings() : settings
      service = await startService(engine, given, {}, now && { now })
      browser = await openBrowser()
    })
    after(async () => {
      await browser.close()
      await service.stop()
    })
    story(
      (path, options) => browser.visit(service, path, options),
      () => service,
    )
  })
}

// One browser serves every test file of the process, because starting one costs as much as some tests.
let running: Promise<Browser> | undefined
let users = 0
let idle: NodeJS.Timeout | undefined

/** How long an idle browser is kept, because the next test file may need it too. */
const IDLE_MS = 500

/** A real browser. Each visit is a window with its own profile. */
export async function openBrowser(): Promise<ConsoleBrowser> {
  clearTimeout(idle)
  users++
  running ??= launch()
  const browser = await running
  const windows: BrowserContext[] = []
  return {
    visit: async (service, path, options = {}) => {
      const seen = await visit(browser, service, path, options)
      windows.push(seen.context)
      return seen
    },
    async close() {
      // A test that failed has left its window open.
      for (const context of windows) await context.close()
      users--
      if (users === 0) idle = setTimeout(end, IDLE_MS)
    },
  }
}

function launch(): Promise<Browser> {
  const executablePath = chromiumPath()
  if (!executablePath) throw new Error('Chromium is not installed')
  const launched = chromium.launch({ executablePath, args: CHROMIUM_FLAGS })
  // After a crash, the next caller gets a new browser.
  const forget = () => {
    if (running === launched) running = undefined
  }
  launched.then((browser) => browser.on('disconnected', forget), forget)
  return launched
}

async function end(): Promise<void> {
  const ending = running
  running = undefined
  const browser = await ending
  await browser?.close()
}
