export type DiffLine = { mark: '+' | '-' | ' ' | '…'; text: string }

const CONTEXT = 3
/** Longer texts aren't compared, because that would take too long. All their lines count as changed. */
const MOST_LINES = 2_000

/** The differences between two texts, line by line, with a few unchanged lines around each change. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [from, to] = [before.split('\n'), after.split('\n')]
  if (from.length > MOST_LINES || to.length > MOST_LINES) return [...marked('-', from), ...marked('+', to)]
  return nearChanges(allLines(from, to))
}

function marked(mark: '+' | '-', lines: string[]): DiffLine[] {
  return lines.map((text) => ({ mark, text }))
}

function allLines(from: string[], to: string[]): DiffLine[] {
  const common = commonLengths(from, to)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < from.length || j < to.length) {
    const [left, right] = [from[i], to[j]]
    if (left !== undefined && left === right) {
      lines.push({ mark: ' ', text: left })
      i++
      j++
    } else if (right === undefined || (left !== undefined && at(common, i + 1, j) >= at(common, i, j + 1))) {
      lines.push({ mark: '-', text: left ?? '' })
      i++
    } else {
      lines.push({ mark: '+', text: right })
      j++
    }
  }
  return lines
}

/** For each pair of positions, how many lines the two texts have in common from there to the end. */
function commonLengths(from: string[], to: string[]): Uint16Array[] {
  const lengths = Array.from({ length: from.length + 1 }, () => new Uint16Array(to.length + 1))
  for (let i = from.length - 1; i >= 0; i--) {
    const row = lengths[i] as Uint16Array
    for (let j = to.length - 1; j >= 0; j--) {
      row[j] =
        from[i] === to[j] ? at(lengths, i + 1, j + 1) + 1 : Math.max(at(lengths, i + 1, j), at(lengths, i, j + 1))
    }
  }
  return lengths
}

function at(lengths: Uint16Array[], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0
}

function nearChanges(lines: DiffLine[]): DiffLine[] {
  const isNear = lines.map(() => false)
  for (const [i, { mark }] of lines.entries()) {
    if (mark !== ' ') isNear.fill(true, Math.max(0, i - CONTEXT), i + CONTEXT + 1)
  }
  return lines.flatMap((line, i) => {
    if (isNear[i]) return [line]
    return isNear[i + 1] && i > 0 ? [{ mark: '…', text: '' } as const] : []
  })
}
