import { after, before, describe, type TestContext, test } from 'node:test'
import { querySchemas } from '../clients/requests.ts'
import { approve, type Replacement, steady } from '../running/approved.ts'
import { type CallOptions, ENGINES, type Engine, type Reply, type Service, startService } from '../service/service.ts'
import { printed } from './printed.ts'
import { openWorld, type World } from './world.ts'

/** A Monday morning, at which the clock of every tour begins. */
const BEGINS = Date.UTC(2026, 2, 2, 8)

const SECOND = 1000

/** Headers that every reply has, or that are about the connection. */
const USUAL: Record<string, RegExp> = {
  'cache-control': /^no-store$/,
  connection: /./,
  'content-length': /./,
  'content-type': /^application\/json; charset=utf-8$/,
  date: /./,
  'keep-alive': /./,
  'transfer-encoding': /./,
  'x-content-type-options': /^nosniff$/,
  'x-ratelimit-reset': /./,
  'x-ratelimit-remaining': /./,
  'x-ratelimit-limit': /^10000$/,
  'x-request-id': /./,
}

/** Sent every 15 seconds, so never on a fast machine. */
const PING = ': ping\n\n'

type StopOptions = CallOptions & {
  /** Prints only these fields of each item instead of the whole reply. */
  only?: readonly string[]
  /** Print every header. */
  headersToo?: boolean
}

/**
 * A service whose clock advances only a second with each request, and a text of everything that its clients receive.
 */
export class Tour {
  time = BEGINS
  service!: Service
  #text = ''

  get engine(): Engine {
    return this.service.engine
  }

  async start(engine: Engine, settings: Record<string, string>): Promise<void> {
    this.service = await startService(engine, settings, {}, { now: () => this.time })
  }

  /** Makes one request, and adds it to the text with its reply. */
  async tell(method: string, path: string, { only, headersToo, ...options }: StopOptions = {}): Promise<Reply> {
    this.time += SECOND
    const reply = await this.service.call(method, path, options)
    this.#request(method, path, options)
    this.#reply(reply, only, headersToo)
    return reply
  }

  /** Requests a list in every order that it supports. Each item is one word. */
  async everySort(path: string, template: string, only: readonly string[]): Promise<void> {
    const parameters = querySchemas({ method: 'GET', path: template as never })
    const sort = parameters.find(({ name }) => name === 'sort')?.schema.enum as string[]
    for (const order of sort) {
      const { body } = await this.call('GET', `${path}?sort=${order}`)
      this.say(`> GET ${path}?sort=${order}\n${rowsOf(body.data, only)}\n`)
    }
  }

  /** Makes a request that isn't added to the text. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    this.time += SECOND
    return this.service.call(method, path, options)
  }

  say(text: string): void {
    this.#text += `${text}\n`
  }

  show(title: string, value: unknown): void {
    this.say(`${title}\n${printed(value)}\n`)
  }

  /** Everything that was added since the last call. */
  take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  #request(method: string, path: string, { key, body, headers = {} }: CallOptions): void {
    this.say(`> ${method} ${path}`)
    if (key === null) this.say('> (without a key)')
    for (const [name, value] of Object.entries(headers)) this.say(`> ${name}: ${value}`)
    if (typeof body === 'string') this.say(body.length > 300 ? `${body.slice(0, 60)}… (${body.length})` : body)
    else if (body !== undefined) this.say(printed(body))
  }

  #reply({ status, headers, text, body }: Reply, only: readonly string[] | undefined, headersToo = false): void {
    this.say(`< ${status}`)
    for (const [name, value] of headers) {
      if (headersToo ? !/^(date|content-length)$/.test(name) : !USUAL[name]?.test(value))
        this.say(`< ${name}: ${value}`)
    }
    if (only && status === 200) {
      this.say(`${rowsOf(body.data, only)}\n${printed(body.pagination)}\n`)
    } else this.say(`${body === undefined ? text.replaceAll(PING, '') : printed(body)}\n`)
  }
}

function rowsOf(items: Record<string, unknown>[], only: readonly string[]): string {
  return items.map((item) => only.map((name) => String(item[name])).join(' ')).join(' | ')
}

/**
 * Runs chapters of the life of one service, each of which ends with an approved text. They run in order, and one can
 * continue with what an earlier one has created.
 */
export function tour(
  name: string,
  story: (tour: Tour, chapter: Chapter, world: () => World) => void,
  settings: Record<string, string> | ((world: World) => Record<string, string>) = {},
): void {
  for (const engine of ENGINES) {
    describe(`${name} on ${engine}`, () => {
      const told = new Tour()
      let world: World
      before(async () => {
        world = await openWorld(told)
        await told.start(engine, {
          ...world.settings,
          ...(typeof settings === 'function' ? settings(world) : settings),
        })
      })
      after(async () => {
        await told.service.stop()
        await world.close()
      })
      story(
        told,
        (file, tell, more = []) => {
          test(file, async (t) => {
            told.take()
            await tell(t)
            approve(t, file, steady(told.take(), [...MORE, ...more], { keepsTimes: true }))
          })
        },
        () => world,
      )
    })
  }
}

type Chapter = (file: string, tell: (t: TestContext) => Promise<void>, more?: readonly Replacement[]) => void

const MORE: readonly Replacement[] = [
  [/\bwhsec_[A-Za-z0-9+/=]+/g, 'signing secret'],
  [/(?<="(secret_)?hint": ")[^"]+/g, 'hint'],
  [/(?<="id": ?")[\w-]{16}(?=")/g, 'log id'],
  [/(?<="(token|secret|uri)": ")[^"]{20,}/g, 'made at random'],
  [/(?<=X-Service-OTP: )\d{6}/g, 'code'],
  [/(?<="hash": ")[0-9a-f]{64}/g, 'hash'],
]
