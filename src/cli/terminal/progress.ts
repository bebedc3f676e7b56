import { visibleLine } from '../../lib/text/visible.ts'
import type { World } from '../world.ts'
import { note, paint } from './output.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const PATIENCE_MS = 400
const FRAME_MS = 80
const CLEAR_LINE = '\r\u001b[K'

const LINES_MS = 10_000

/**
 * Shows the progress of long work: on a terminal in one line that changes, elsewhere from time to time in a separate
 * line. It can be called often.
 */
export function counting(world: World): { tell(text: string): void; end(): void } {
  const { stderr, isJson } = world
  const isLive = stderr.isTTY === true && !isJson
  const patience = isLive ? FRAME_MS : LINES_MS
  let shownAt = performance.now()
  let isShown = false
  return {
    tell(text) {
      const now = performance.now()
      if (now - shownAt < patience) return
      shownAt = now
      isShown = isLive
      if (isLive) stderr.write(`${CLEAR_LINE}${visibleLine(text)}`)
      else note(world, text, 'dim')
    },
    end() {
      if (isShown) stderr.write(CLEAR_LINE)
      isShown = false
    },
  }
}

/** Shows on a terminal that work is in progress, if it takes longer than a moment. */
export async function progress<T>(world: World, text: string, work: () => Promise<T>): Promise<T> {
  const { stderr, isJson } = world
  if (!stderr.isTTY || isJson) return work()
  let shown = 0
  const draw = () =>
    stderr.write(
      `${CLEAR_LINE}${paint(world, 'stderr', 'cyan', FRAMES[shown++ % FRAMES.length] ?? '')} ${visibleLine(text)}`,
    )
  let frames: NodeJS.Timeout | undefined
  const patience = setTimeout(() => {
    draw()
    frames = setInterval(draw, FRAME_MS)
  }, PATIENCE_MS)
  try {
    return await work()
  } finally {
    clearTimeout(patience)
    clearInterval(frames)
    if (shown > 0) stderr.write(CLEAR_LINE)
  }
}
