import type { SourceFile } from './imports.ts'

/** The files that build all parts, start what uses them, or pass them on to every operation. */
const HANDS_ALL_ON = new Set([
  'app.ts',
  'background.ts',
  'build-parts.ts',
  'cli/connect/local-store.ts',
  'http/pipeline/edge.ts',
  'http/pipeline/run-operation.ts',
  'operation.ts',
  'operation/context.ts',
])

const COMMENTS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
/** Matches parts or a context that are named but of which only some are used. */
const PICKED = /\bPick<\s*(?:Parts|Context)\b|\b(?:Parts|Context)\[/g
const WHOLE = /[:&|<=(,]\s*(?:Parts|Context)\b/
const RUN = /^ {2}(?:async )?run(?:: )?\(([\s\S]*?)\) (?:\{|=>)/m
/** Matches a parameter that names what it takes or its type. */
const SAID = /^(?:\{|\w+:\s*\S)/

/** Files in which a function takes all parts or the whole context, and operations that don't say what they use. */
export function unsaidNeeds(sources: readonly SourceFile[]): string[] {
  return sources
    .filter(({ file }) => !HANDS_ALL_ON.has(file))
    .filter((source) => takesAll(source) || takesUnsaid(source))
    .map(({ file }) => file)
}

/** Other libraries have a `Context` too, so only files that import ours are checked. */
function takesAll({ text, imports }: SourceFile): boolean {
  if (!imports.some(({ to }) => to === 'operation/parts.ts' || to === 'operation/context.ts')) return false
  return WHOLE.test(text.replaceAll(COMMENTS, '').replaceAll(PICKED, ''))
}

/** A name without a type would stand for the whole context. */
function takesUnsaid({ text }: SourceFile): boolean {
  if (!/= operation\(\{/.test(text)) return false
  const [, context] = parametersIn(RUN.exec(text)?.[1] ?? '')
  return context !== undefined && !SAID.test(context)
}

function parametersIn(text: string): string[] {
  const found = ['']
  let depth = 0
  for (const character of text) {
    if ('{[(<'.includes(character)) depth++
    if ('}])>'.includes(character)) depth--
    if (character === ',' && depth === 0) found.push('')
    else found[found.length - 1] += character
  }
  return found.map((one) => one.trim()).filter((one) => one !== '')
}

/** A context has the service's parts as its prototype, so a copy of it lacks them. */
const COPIED = /\{[^{}]*\.\.\.\w+ \}: [^)]*Needs\b|\.\.\.(?:needs|parts)\b/
const COPIED_CONTEXT = /\bcontext: [^,)]*Needs\b[\s\S]*\{ \.\.\.context\b/

/** Files that copy an operation's context. */
export function copiedContexts(sources: readonly SourceFile[]): string[] {
  return sources
    .filter(({ imports }) => imports.some(({ to }) => to === 'operation/context.ts'))
    .filter(({ file, text }) => !HANDS_ALL_ON.has(file) && (COPIED.test(text) || COPIED_CONTEXT.test(text)))
    .map(({ file }) => file)
}
