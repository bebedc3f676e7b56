import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { visibleLine } from '../../lib/text/visible.ts'
import { isInteractive, type World } from '../world.ts'

const PROMPT = '› '

export type Keyboard = {
  /** The next line, or undefined at the end. On a terminal, a prompt is shown. */
  next(): Promise<string | undefined>
  /** Until the next prompt, typed text is kept but not shown, so it doesn't mix with the output. */
  hide(): void
  close(): void
}

/** The lines of stdin as they arrive. On Ctrl-C, `onInterrupt` is called and text that was typed ahead is dropped. */
export function openKeyboard(world: World, onInterrupt: () => void): Keyboard {
  const { stdin, stderr, signal } = world
  const isTerminal = isInteractive(world)
  const echo = new Echo(stderr)
  const lines = createInterface({ input: stdin, output: echo, terminal: isTerminal, prompt: PROMPT })
  const typed: string[] = []
  let isOpen = true
  let wake = () => {}
  const interrupt = () => {
    typed.length = 0
    onInterrupt()
  }
  lines.on('line', (line) => {
    typed.push(line)
    wake()
  })
  lines.on('close', () => {
    isOpen = false
    wake()
  })
  lines.on('SIGINT', interrupt)
  signal.addEventListener('abort', interrupt)

  return {
    async next() {
      echo.isHidden = false
      const [ahead] = typed
      const isPrompting = isTerminal && ahead === undefined && isOpen
      if (isPrompting) lines.prompt(true)
      else if (isTerminal && ahead !== undefined) echo.write(`${PROMPT}${visibleLine(ahead)}\n`)
      while (typed.length === 0 && isOpen) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      // At the prompt, the cursor is behind it, so a new line is started.
      if (isPrompting && typed.length === 0) echo.write('\n')
      return typed.shift()
    },
    hide() {
      echo.isHidden = true
    },
    close() {
      signal.removeEventListener('abort', interrupt)
      lines.close()
    },
  }
}

/** The stream to which readline writes the typed text. */
class Echo extends Writable {
  isHidden = false
  readonly isTTY: boolean
  readonly #terminal: World['stderr']

  constructor(terminal: World['stderr']) {
    super({ decodeStrings: false })
    this.#terminal = terminal
    this.isTTY = terminal.isTTY === true
  }

  get columns(): number | undefined {
    return this.#terminal.columns
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    if (!this.isHidden) this.#terminal.write(chunk)
    done()
  }
}
