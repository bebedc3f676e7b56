import type { z } from 'zod'
import { nearest } from '../lib/text/nearest.ts'
import { plainIssue, type TypeNames } from '../lib/text/plain-issue.ts'
import type { Path } from './settings.ts'

/** One mistake, ready to print. It has a line and a column if it is in the file. */
export type Problem = { text: string; line?: number; column?: number }

/** The message for an invalid value. It never contains the value itself, which may be a secret. */
export function plainMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'unrecognized_keys' && issue.input === undefined) return 'is required'
  if (issue.input === null) return 'is empty; give it a value or remove the key'
  switch (issue.code) {
    case 'invalid_value':
      return oneOf(issue.values.map(String), issue.input)
    case 'invalid_union':
      return oneOf(Array.isArray(issue.options) ? issue.options.map(String) : [], undefined)
    default:
      return plainIssue(issue, YAML_TYPES)
  }
}

export function unknownKey(key: string, known: readonly string[], what: 'setting' | 'field' = 'setting'): string {
  const meant = nearest(key, known)
  return meant === undefined ? `unknown ${what}` : `unknown ${what}; did you mean ${meant}?`
}

const MAX_PROBLEMS = 100

/**
 * The first mistakes as problems. Hundreds of mistakes usually have one cause, and finding all their positions takes
 * long.
 */
export function tellFirst<T>(mistakes: readonly T[], tell: (mistake: T) => Problem[]): Problem[] {
  const left = mistakes.length - MAX_PROBLEMS
  const told = mistakes.slice(0, MAX_PROBLEMS).flatMap(tell)
  return left > 0 ? [...told, { text: `… and ${left} more errors` }] : told
}

/** What a shape reports about a path in a file. The message is undefined for an unknown key. */
export type Misfit = { path: Path; message: string | undefined }

export function misfitsOf(issues: readonly z.core.$ZodIssue[] = []): Misfit[] {
  return issues.flatMap((issue): Misfit[] => {
    const path = issue.path as Path
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map((key) => ({ path: [...path, key], message: undefined }))
  })
}

/** Problems in the file come first, in the order of their lines. */
export function inOrder(problems: readonly Problem[]): string[] {
  const end = Number.POSITIVE_INFINITY
  const sorted = problems.toSorted((a, b) => {
    if ((a.line ?? end) !== (b.line ?? end)) return (a.line ?? end) - (b.line ?? end)
    return (a.column ?? 0) - (b.column ?? 0)
  })
  return [...new Set(sorted.map(({ text }) => text))]
}

const YAML_TYPES: TypeNames = {
  string: 'text; put it in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
}

function oneOf(options: readonly string[], given: unknown): string {
  const meant = typeof given === 'string' ? nearest(given, options) : undefined
  return `must be one of ${options.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}
