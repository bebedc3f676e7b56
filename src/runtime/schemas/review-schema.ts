import type { Ajv } from 'ajv'
import { problemOf, type SchemaProblem } from './schema-errors.ts'

/** What is wrong with a schema itself, and where. */
export function reviewSchema(
  schema: object,
  reviewer: Pick<Ajv, 'errors' | 'validateSchema'>,
  compiler: Pick<Ajv, 'compile'>,
): SchemaProblem[] {
  if (!reviewer.validateSchema(schema)) return deepest((reviewer.errors ?? []).map(problemOf))
  const patterns = find(schema, (key, value) => key === 'pattern' && typeof value === 'string' && !isPattern(value))
  if (patterns.length > 0)
    return patterns.map((at) => ({ at, problem: 'must be a valid regular expression (Unicode)' }))
  try {
    compiler.compile(schema)
    return []
  } catch (error) {
    return [compileProblem(schema, error as Error & { missingRef?: string })]
  }
}

/**
 * Keeps one problem per position. The meta-schema has alternatives, and reports an error for each one that doesn't fit.
 */
function deepest(problems: SchemaProblem[]): SchemaProblem[] {
  const found = new Map<string, SchemaProblem>()
  for (const problem of problems) if (!found.has(problem.at)) found.set(problem.at, problem)
  const places = [...found.keys()]
  return [...found.values()].filter(({ at }) => !places.some((other) => other.startsWith(`${at}/`)))
}

function compileProblem(schema: object, { message, missingRef }: Error & { missingRef?: string }): SchemaProblem {
  if (missingRef === undefined) return { at: '', problem: `can't be used: ${message.slice(0, 300)}` }
  const [at = ''] = find(
    schema,
    (key, value) => key === '$ref' && typeof value === 'string' && isEnd(missingRef, value),
  )
  return { at, problem: `refers to ${missingRef.slice(0, 200)}, which is not in the schema` }
}

/** The resolved reference may start with the schema's ID. */
function isEnd(resolved: string, written: string): boolean {
  return resolved.endsWith(written)
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u').unicode
  } catch {
    return false
  }
}

/** Pointers to the members of a value that pass the test. */
function find(value: unknown, isFound: (key: string, value: unknown) => boolean, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return isFound(key, inner) ? [here] : find(inner, isFound, here)
  })
}
