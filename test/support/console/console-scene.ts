import { after, before, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { approve } from '../running/approved.ts'
import { until } from '../running/until.ts'
import type { Service } from '../service/service.ts'
import { inConsole } from './console.ts'
import type { Visit, VisitOptions } from './console-visit.ts'
import { fillHarbour, type Harbour } from './harbour-seed.ts'
import { type HarbourWorld, startHarbourWorld } from './harbour-world.ts'
import { recordRequests, seenPage, steadyPage } from './seen-page.ts'

/** What a reader does: `press` a button, `open` what has this text, `fill` or `choose` in a field, `check` a box. */
export type ReaderAction = [
  'press' | 'open' | 'fill' | 'choose' | 'check' | 'look' | 'sent',
  name: string,
  value?: string,
]

/** A window that records what the reader sees and what is sent. */
export class ConsoleScene {
  readonly window: Visit
  readonly page: Page
  readonly #sent: () => string
  #text = ''

  constructor(window: Visit) {
    this.window = window
    this.page = window.page
    this.#sent = recordRequests(window.page)
  }

  /** The requests of the first page aren't recorded, no matter how late they are made. */
  async begin(): Promise<void> {
    await this.#still()
    this.#sent()
  }

  /** Opens a page and records it. */
  async open(path: string, title = path): Promise<void> {
    // The previous page may make one more request when it is left.
    await this.window.go('/nowhere')
    await this.window.quiet()
    await this.page.evaluate(FRAMES)
    await this.window.quiet()
    this.#sent()
    this.window.asked()
    await this.window.go(path)
    await this.window.settled()
    await this.look(title)
  }

  /** Records what is shown once it has stopped changing, and the requests since the last call. */
  async look(title: string, within?: string): Promise<void> {
    const seen = await this.#still(within)
    this.#text += `═══ ${title}\n${seen}\n\n${this.#sent()}\n\n`
  }

  /** Records what was sent since the last call, and the message that is shown. */
  async sent(title: string): Promise<void> {
    const seen = await this.#still('.toast, [role=alert]')
    this.#text += `═══ ${title}\n${seen}\n\n${this.#sent()}\n\n`
  }

  /** Performs the actions one after the other. Each recorded part has its own title. */
  async act(deeds: readonly ReaderAction[]): Promise<void> {
    const within = async () => ((await this.page.locator('dialog[open]').count()) > 0 ? 'dialog[open]' : 'body')
    for (const [what, name, value = ''] of deeds) {
      const around = this.page.locator(await within()).last()
      if (what === 'press') await around.getByRole('button', { name, exact: true }).first().click()
      if (what === 'open') await around.getByText(name, { exact: true }).first().click()
      if (what === 'fill') await around.getByLabel(name, { exact: true }).first().fill(value)
      if (what === 'choose') await around.getByLabel(name, { exact: true }).first().selectOption(value)
      if (what === 'check') await around.getByLabel(name).first().check()
      if (what === 'look') await this.look(name)
      if (what === 'sent') await this.sent(name)
    }
  }

  /** Closes the open dialog, and the secret that it may show. */
  async close(): Promise<void> {
    const stored = this.page.getByLabel(/^I've/)
    if ((await stored.count()) > 0) {
      await stored.check()
      await this.page.getByRole('button', { name: 'Done' }).click()
    }
    await this.page.keyboard.press('Escape')
    const toast = this.page.getByRole('button', { name: 'Dismiss' })
    if ((await toast.count()) > 0) await toast.click()
  }

  /** Fails unless everything that was recorded is as approved. */
  approve(t: TestContext, name: string, more?: Parameters<typeof steadyPage>[1]): void {
    const text = this.#text
    this.#text = ''
    approve(t, `console/${name}.txt`, steadyPage(text, more))
    this.window.checkWell()
  }

  async #still(within?: string): Promise<string> {
    let last = ''
    return until('the page changes no more', async () => {
      await this.window.quiet()
      await this.page.evaluate(FRAMES)
      const hasDialog = (await this.page.locator('dialog[open]').count()) > 0
      const now = await seenPage(this.page, within ?? (hasDialog ? 'dialog[open], .toast' : undefined))
      const isStill = now === last && !/aria-busy|\.coming|\.busy/.test(now)
      last = now
      return isStill ? now : undefined
    })
  }
}

/** Long enough for what was drawn to request what it needs. */
const FRAMES = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 60))))`

type OpenScene = (path: string, options?: VisitOptions) => Promise<ConsoleScene>

/** A story on a service with data, at a time that is the same in every run. */
export function inHarbour(
  name: string,
  story: (open: OpenScene, harbour: () => Harbour, service: () => Service, world: () => HarbourWorld) => void,
): void {
  let world: HarbourWorld
  let harbour: Harbour
  inConsole(
    name,
    (visit, service) => {
      before(async () => {
        harbour = await fillHarbour(service(), world)
      })
      after(() => world.close())
      const open: OpenScene = async (path, options) => {
        const at = world.clock.now()
        const window = await visit(path, { isStill: true, timezone: 'Europe/Berlin', at, ...options })
        await window.settled()
        const scene = new ConsoleScene(window)
        await scene.begin()
        return scene
      }
      story(
        open,
        () => harbour,
        service,
        () => world,
      )
    },
    {
      settings: async () => {
        world = await startHarbourWorld()
        return world.settings
      },
      now: () => world.clock.now(),
    },
  )
}
