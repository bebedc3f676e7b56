import type { CheckedPoint } from '../../../../sdk/client.ts'
import { EXIT, Failure } from '../../failure.ts'
import { paint, printPainted, shown } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SHOWN = { ok: ['green', 'ok'], failed: ['red', 'failed'], not_tried: ['yellow', 'not tried'] } as const

export function failIfAny(points: readonly CheckedPoint[]): void {
  const failed = points.filter(({ status }) => status === 'failed')
  if (failed.length > 0) throw new Failure(EXIT.failed, `${failed.length} of ${points.length} checks failed`)
}

export function tell(world: World, { point, status, detail }: CheckedPoint): void {
  const [color, word] = SHOWN[status]
  const text = detail === null ? point : `${point}: ${detail}`
  printPainted(world, `${paint(world, 'stdout', color, word.padEnd(9))} ${shown(world, 'stdout', text)}`)
}
