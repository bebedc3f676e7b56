import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnv, startChild } from '../service/child.ts'
import { findExecutable } from '../stores/daemon.ts'

export type Page = {
  /** All URLs that the page has requested, including its own. */
  requests: string[]
  /** The page's problems: errors, violations of its policy, and failed loads. */
  problems: string[]
  /** Evaluates an expression in the page. Promises are awaited. */
  evaluate(expression: string): Promise<unknown>
  screenshot(file: string): Promise<void>
}

export type Browser = {
  open(url: string, options?: { width?: number; dark?: boolean }): Promise<Page>
  close(): Promise<void>
}

export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

/**
 * Debian's browser without a window, which needs a third less of the processor. The command
 * `chromium-headless-shell` is a shell script that starts it.
 */
const HEADLESS_SHELL = '/usr/lib/chromium/chromium-headless-shell'

export function chromiumPath(): string | undefined {
  const given = process.env['MOORAGE_TEST_CHROMIUM']
  return given || findExecutable(HEADLESS_SHELL, 'chromium', 'chromium-browser', 'google-chrome')
}

/** A real browser, controlled over its debugging protocol. */
export async function startBrowser(path: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'moorage-chromium-'))
  const flags = [...CHROMIUM_FLAGS, '--headless', '--remote-debugging-port=0']
  const child = startChild(path, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    env: { ...childEnv(), HOME: profile },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  while (!/DevTools listening on (ws:\S+)/.test(said)) {
    const [chunk] = await Promise.race([once(child.stderr, 'data'), once(child, 'exit')])
    if (child.exitCode !== null) throw new Error(`${path} ended:\n${said}`)
    said += String(chunk)
  }
  const socket = new WebSocket(/DevTools listening on (ws:\S+)/.exec(said)?.[1] ?? '')
  await once(socket, 'open')
  const protocol = speak(socket)
  return {
    open: (url, options) => openPage(protocol, url, options),
    async close() {
      const exited = once(child, 'exit')
      socket.close()
      child.kill('SIGKILL')
      await exited
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

// Each place that reads a protocol message knows its shape.
// oxlint-disable-next-line typescript/no-explicit-any
type Answer = any

type Message = {
  id?: number
  method?: string
  sessionId?: string
  params?: Answer
  result?: Answer
  error?: { message: string }
}

type Protocol = {
  send(method: string, params?: object, sessionId?: string): Promise<Answer>
  listen(sessionId: string, listener: (method: string, params: Answer) => void): void
}

function speak(socket: WebSocket): Protocol {
  const waiting = new Map<number, { resolve: (value: Answer) => void; reject: (error: Error) => void }>()
  const listeners = new Map<string, (method: string, params: Answer) => void>()
  let lastId = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, method, sessionId, params, result, error } = JSON.parse(String(data)) as Message
    if (method) return listeners.get(sessionId ?? '')?.(method, params)
    const caller = waiting.get(id ?? 0)
    waiting.delete(id ?? 0)
    if (error) caller?.reject(new Error(error.message))
    else caller?.resolve(result)
  })
  return {
    send: (method, params = {}, sessionId) =>
      new Promise((resolve, reject) => {
        const id = ++lastId
        waiting.set(id, { resolve, reject })
        socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }))
      }),
    listen: (sessionId, listener) => listeners.set(sessionId, listener),
  }
}

async function openPage(
  { send, listen }: Protocol,
  url: string,
  { width = 1400, dark = false }: { width?: number; dark?: boolean } = {},
): Promise<Page> {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
  const loaded = Promise.withResolvers<void>()
  const requests: string[] = []
  const problems: string[] = []
  listen(sessionId, (method, params) => {
    if (method === 'Network.requestWillBeSent') requests.push(params.request.url)
    if (method === 'Network.loadingFailed') problems.push(`loading: ${params.errorText}`)
    if (method === 'Runtime.exceptionThrown') problems.push(params.exceptionDetails.text)
    if (method === 'Log.entryAdded' && params.entry.level === 'error') problems.push(params.entry.text)
    if (method === 'Page.loadEventFired') loaded.resolve()
  })
  for (const domain of ['Network', 'Runtime', 'Log', 'Page']) await send(`${domain}.enable`, {}, sessionId)
  const scheme = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]
  await send('Emulation.setEmulatedMedia', { features: scheme }, sessionId)
  const size = { width, height: 900, deviceScaleFactor: 1, mobile: false }
  await send('Emulation.setDeviceMetricsOverride', size, sessionId)
  await send('Page.navigate', { url }, sessionId)
  await loaded.promise
  return {
    requests,
    problems,
    async evaluate(expression) {
      const params = { expression, awaitPromise: true, returnByValue: true }
      const { result, exceptionDetails } = await send('Runtime.evaluate', params, sessionId)
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      return result.value
    },
    async screenshot(file) {
      const { data } = await send('Page.captureScreenshot', {}, sessionId)
      writeFileSync(file, Buffer.from(data, 'base64'))
    },
  }
}
