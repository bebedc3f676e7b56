import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import { visibleLine } from './text/visible.ts'

const LEVEL_STYLES: Record<string, Parameters<typeof styleText>[0]> = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  info: 'green',
}

/**
 * Log lines for a person, in color if `color` is set and the terminal supports it. Text from strangers can neither
 * control the terminal nor imitate one of our lines.
 */
export function prettyStream(
  terminal: Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>,
  color: boolean,
): { write(line: string): void } {
  const isColorful = color && terminal.isTTY === true && terminal.hasColors?.() === true
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    isColorful ? styleText(style, text, { validateStream: false }) : text
  return {
    write(line) {
      const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>
      const details = Object.entries(rest).map(
        ([key, value]) => ` ${visibleLine(`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)}`,
      )
      const clock = paint('dim', String(time).slice(11, 19))
      const name = paint(LEVEL_STYLES[String(level)] ?? 'dim', String(level).padEnd(5))
      terminal.write(`${clock} ${name} ${visibleLine(String(msg))}${paint('dim', details.join(''))}\n`)
    },
  }
}
