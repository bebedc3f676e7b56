import { visibleLine } from '../../lib/text/visible.ts'
import type { World } from '../world.ts'
import { paint } from './output.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const PATIENCE_MS = 400
const FRAME_MS = 80
const CLEAR_LINE = '\r\u001b[K'

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
