import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml'

/** An error in a text, and its line. Lines are counted from 1. */
export class YamlError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** The value of a text, and the line of each value by its path, such as `tools.0.url`. */
export type ReadYaml = { value: unknown; lines: Map<string, number> }

/** Reads a text the way `moorage deploy` reads a file: names are texts and can't repeat, and there are no anchors. */
export function readYaml(text: string): ReadYaml {
  const lineCounter = new LineCounter()
  const lineAt = (offset: number) => lineCounter.linePos(offset).line
  const document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true })
  const [problem] = [...document.errors, ...document.warnings].toSorted((a, b) => a.pos[0] - b.pos[0])
  if (problem) throw new YamlError(lineAt(placeOf(problem.pos[0], text)), problem.message)
  visit(document, {
    Alias: (_key, { range }) => refuseAnchor(lineAt(range?.[0] ?? 0)),
    Node: (_key, { anchor, range }) => (anchor ? refuseAnchor(lineAt(range?.[0] ?? 0)) : undefined),
  })
  const lines = new Map<string, number>()
  addLines(document.contents, [], lines, lineAt)
  return { value: document.toJS() as unknown, lines }
}

/** Something missing is reported after the last word, not in the empty lines that follow. */
function placeOf(offset: number, text: string): number {
  const isBehind = /^[^\S\n]*(\n|$)/.test(text.slice(offset))
  return isBehind ? Math.max(0, text.slice(0, offset).trimEnd().length - 1) : offset
}

function refuseAnchor(line: number): never {
  throw new YamlError(line, 'Anchors and aliases are not supported: put a text that begins with & or * in quotes')
}

/** A value with a name gets the line of its name, because a long text begins below it. */
function addLines(
  node: Node | null,
  path: string[],
  lines: Map<string, number>,
  lineAt: (offset: number) => number,
): void {
  const items = isMap<Node, Node>(node)
    ? node.items.map(({ key, value }) => ({ name: isScalar(key) ? String(key.value) : '', at: key, value }))
    : isSeq<Node>(node)
      ? node.items.map((value, i) => ({ name: String(i), at: value, value }))
      : []
  for (const { name, at, value } of items) {
    const inside = [...path, name]
    lines.set(inside.join('.'), lineAt(at.range?.[0] ?? 0))
    addLines(value, inside, lines, lineAt)
  }
}
