import type { Change } from './mistakes.ts'

const OPERATORS: [pattern: RegExp, replacement: string][] = [
  [/(?<=\s)<(?=\s)/g, '<='],
  [/(?<=\s)<=(?=\s)/g, '<'],
  [/(?<=\s)>(?=\s)/g, '>='],
  [/(?<=\s)>=(?=\s)/g, '>'],
  [/(?<=\s)=(?=\s)/g, '<>'],
  [/(?<=\s)<>(?=\s)/g, '='],
  [/\bis null\b/g, 'is not null'],
  [/\bis not null\b/g, 'is null'],
  [/\bnot exists\b/g, 'exists'],
  [/(?<!not )\bexists\b/g, 'not exists'],
  [/ desc\b/g, ''],
  [/ asc\b/g, ' desc'],
  [/ for update\b/g, ''],
  [/ skip locked\b/g, ''],
  [/\bunion all\b/g, 'union'],
]

/** What ends a condition, if it is not inside parentheses of the condition. */
const ENDS = /^(and|or|then|else|end|order by|group by|limit|returning|union|for|on conflict|when|where)\b/

/** Changes in the text of a statement, as it stands in the source: with its quotes, and `${…}` for its values. */
export function sqlChanges(text: string): Change[] {
  const plain = withoutValues(text)
  const operators = OPERATORS.flatMap(([pattern, replacement]) =>
    [...plain.matchAll(pattern)].map(({ index, 0: found }) => ({
      kind: 'sql-operator',
      start: index,
      end: index + found.length,
      replacement,
    })),
  )
  return [...operators, ...conditions(plain)].toSorted((one, other) => one.start - other.start)
}

/** Conditions that can be left out: one after `and`, with the `and`, and the first after `where`, if another follows. */
function conditions(plain: string): Change[] {
  return [...plain.matchAll(/\b(and|where)\b\s*/g)].flatMap(({ index, 0: found, 1: word }) => {
    const begin = index + found.length
    const end = endOf(plain, begin)
    if (end === begin || isInBetween(plain.slice(0, index))) return []
    if (word === 'and') return [{ kind: 'sql', start: index, end, replacement: '' }]
    const next = /^\s*and\b\s*/.exec(plain.slice(end))
    return next ? [{ kind: 'sql', start: begin, end: end + next[0].length, replacement: '' }] : []
  })
}

function endOf(plain: string, begin: number): number {
  let depth = 0
  for (let i = begin; i < plain.length; i++) {
    const char = plain[i]
    if (char === '(') depth++
    if (char === ')' && depth-- === 0) return trimmed(plain, begin, i)
    if (char === '`' || (char === "'" && i === plain.length - 1)) return trimmed(plain, begin, i)
    const isWordStart = i > begin && /\s/.test(plain[i - 1] ?? '')
    const isEnd = char === ',' || (isWordStart && ENDS.test(plain.slice(i)))
    if (depth === 0 && isEnd && !isInBetween(plain.slice(begin, i))) return trimmed(plain, begin, i)
  }
  return trimmed(plain, begin, plain.length)
}

/** Whether the text ends inside `between … and …`. */
const isInBetween = (text: string) => /\bbetween\b(?!.*\band\b)/s.test(text)

const trimmed = (plain: string, begin: number, end: number) => begin + plain.slice(begin, end).trimEnd().length

/** The text with something of the same length, without spaces, in place of values: they are code. */
function withoutValues(text: string): string {
  let plain = ''
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    if (depth === 0 && text.startsWith('${', i)) {
      depth = 1
      plain += '__'
      i++
    } else if (depth === 0) plain += text[i]
    else {
      if (text[i] === '{') depth++
      if (text[i] === '}') depth--
      plain += '_'
    }
  }
  return plain
}
