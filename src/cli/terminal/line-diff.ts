import { structuredPatch } from 'diff'
import { stringify } from 'yaml'
import type { FieldChange } from '../../agents/definition.ts'
import type { World } from '../world.ts'
import { paint, printPainted, shown } from './output.ts'

type Sides = { from: string; to: string }

const CONTEXT_LINES = 3
/** With more edits than this, everything counts as changed, because finding the smallest difference would take long. */
const MAX_EDITS = 1_000

/** Prints changes as lines of YAML: removed lines with a minus, added lines with a plus. */
export function printDiff(world: World, changes: readonly FieldChange[], sides: Sides): void {
  const head = [paint(world, 'stdout', 'bold', `--- ${sides.from}`), paint(world, 'stdout', 'bold', `+++ ${sides.to}`)]
  const lines = diffLines(textOf(changes, 'from'), textOf(changes, 'to')).map((line) => painted(world, line))
  printPainted(world, [...head, ...lines].join('\n'))
}

function diffLines(from: string, to: string): string[] {
  const patch = structuredPatch('', '', from, to, '', '', { context: CONTEXT_LINES, maxEditLength: MAX_EDITS })
  if (!patch) return [...marked('-', from), ...marked('+', to)]
  return patch.hunks.flatMap(({ lines }, index) => (index === 0 ? lines : ['…', ...lines]))
}

function marked(mark: string, text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => mark + line)
}

/** Both sides have their keys in the same order, because the order has no meaning. Undefined values are left out. */
function textOf(changes: readonly FieldChange[], side: 'from' | 'to'): string {
  const given = changes.filter((change) => change[side] !== undefined)
  if (given.length === 0) return ''
  const fields = Object.fromEntries(given.map((change) => [change.field, change[side]]))
  return stringify(fields, { lineWidth: 0, sortMapEntries: true, aliasDuplicateObjects: false })
}

const STYLES = { '+': 'green', '-': 'red' } as const

function painted(world: World, line: string): string {
  const style = STYLES[line[0] as keyof typeof STYLES]
  return style ? paint(world, 'stdout', style, line) : shown(world, 'stdout', line)
}
