import type { PathParams } from '../pipeline/request.ts'

export type FoundPath<T> = { value: T; params: PathParams }

/** What is found at the end of a path, and the names of the path's parameters. */
type PathEnd<T> = { value: T; names: string[] }

/** What may follow at this point of a path, and what can be found here by method. */
type Branch<T> = {
  words: Map<string, Branch<T>>
  parameter: Branch<T> | undefined
  ends: Map<string, PathEnd<T>>
}

/**
 * Finds what was added for a method and a path. A literal segment takes precedence over a parameter. HEAD is handled
 * like GET.
 */
export class Router<T> {
  readonly #root: Branch<T> = newBranch()

  /** Path parameters are in braces: `/v1/agents/{agent_id}`. */
  add(method: string, path: string, value: T): void {
    const names: string[] = []
    let branch = this.#root
    for (const word of path.split('/')) {
      const name = /^\{(\w+)\}$/.exec(word)?.[1]
      if (name === undefined) {
        const next = branch.words.get(word) ?? newBranch<T>()
        branch.words.set(word, next)
        branch = next
      } else {
        names.push(name)
        branch = branch.parameter ??= newBranch()
      }
    }
    branch.ends.set(method, { value, names })
  }

  /**
   * Returns undefined for an unknown path or method. Throws a URIError for an invalid escape in a parameter. Literal
   * segments aren't decoded, because every part of the service must see the same path.
   */
  find(method: string, path: string): FoundPath<T> | undefined {
    const values: string[] = []
    const end = search(this.#root, method === 'HEAD' ? 'GET' : method, path.split('/'), 0, values)
    if (!end) return undefined
    const params: Record<string, string> = {}
    for (let i = 0; i < values.length; i++) params[end.names[i] as string] = decodeURIComponent(values[i] as string)
    return { value: end.value, params }
  }

  /** The methods for which the path leads to something that `counts`. */
  methods(path: string, counts: (value: T) => boolean): string[] {
    const found = endsOf(this.#root, path.split('/'), 0).flatMap((ends) => [...ends])
    return [...new Set(found.filter(([, { value }]) => counts(value)).map(([method]) => method))]
  }
}

function newBranch<T>(): Branch<T> {
  return { words: new Map(), parameter: undefined, ends: new Map() }
}

/** Puts the values of the parameters into `values`. */
function search<T>(
  branch: Branch<T>,
  method: string,
  words: string[],
  at: number,
  values: string[],
): PathEnd<T> | undefined {
  const word = words[at]
  if (word === undefined) return branch.ends.get(method)
  const next = branch.words.get(word)
  const found = next && search(next, method, words, at + 1, values)
  if (found || !branch.parameter || word === '') return found
  values.push(word)
  const below = search(branch.parameter, method, words, at + 1, values)
  if (!below) values.pop()
  return below
}

/** What is found at a path if it is matched by words and by parameters. */
function endsOf<T>(branch: Branch<T>, words: string[], at: number): Branch<T>['ends'][] {
  const word = words[at]
  if (word === undefined) return [branch.ends]
  const next = [branch.words.get(word), word === '' ? undefined : branch.parameter]
  return next.flatMap((below) => (below ? endsOf(below, words, at + 1) : []))
}
