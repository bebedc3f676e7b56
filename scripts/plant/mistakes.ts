// Finds the places where a small change, like a person's mistake, gives a source another meaning.
import { join } from 'node:path'
import * as ts from 'typescript/unstable/ast'
import { API, type Project } from 'typescript/unstable/sync'
import { sqlChanges } from './sql-changes.ts'

/** A piece of a text and its replacement. */
export type Change = { kind: string; start: number; end: number; replacement: string }

/** `id` is what `--mistake` takes: the place and the kind. Lines and columns begin at 1. */
export type Mistake = Change & { id: string; file: string; line: number; lastLine: number; before: string }

export type Sources = {
  /** All possible mistakes of a file, from top to bottom. */
  mistakesIn(file: string): Mistake[]
  /** Whether the file compiles with the mistake. If not, no test is needed to find it. */
  compiles(mistake: Mistake): boolean
  close(): void
}

export function openSources(root: string): Sources {
  const changed = new Map<string, string>()
  const config = join(root, 'tsconfig.json')
  const api = new API({ cwd: root, fs: { readFile: (path) => changed.get(path) } })
  const projectOf = (snapshot: { getProject(path: string): Project | undefined }) => {
    const project = snapshot.getProject(config)
    if (!project) throw new Error(`${config} is not a project`)
    return project
  }
  const project = projectOf(api.updateSnapshot({ openProjects: [config] }))
  const sourceOf = (file: string) => {
    const source = project.program.getSourceFile(join(root, file))
    if (!source) throw new Error(`${file} is not in ${config}`)
    return source
  }
  return {
    mistakesIn(file) {
      const source = sourceOf(file)
      const lineOf = lines(source.text)
      return [...changesIn(source)].map((change) => {
        const { line, column } = lineOf(change.start)
        const before = source.text.slice(change.start, change.end)
        const id = `${file}:${line}:${column}:${change.kind}`
        return { ...change, id, file, line, lastLine: lineOf(change.end).line, before }
      })
    },
    compiles(mistake) {
      const path = join(root, mistake.file)
      changed.set(path, withMistake(sourceOf(mistake.file).text, mistake))
      const snapshot = api.updateSnapshot({ fileChanges: { changed: [path] } })
      const { program } = projectOf(snapshot)
      const problems = [...program.getSyntacticDiagnostics(path), ...program.getSemanticDiagnostics(path)]
      snapshot.dispose()
      changed.delete(path)
      api.updateSnapshot({ fileChanges: { changed: [path] } })
      return problems.length === 0
    },
    close: () => api.close(),
  }
}

export function withMistake(text: string, { start, end, replacement }: Change): string {
  return text.slice(0, start) + replacement + text.slice(end)
}

function lines(text: string): (offset: number) => { line: number; column: number } {
  return (offset) => {
    const before = text.slice(0, offset).split('\n')
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
  }
}

/** Texts of logs and documentation are left alone: tests shouldn't depend on them. */
const TOLD = /\b(log|logger|console)\??\.\w+$|\.(describe|meta|openapi)$/

function* changesIn(source: ts.SourceFile): Generator<Change> {
  const textOf = (node: ts.Node) => source.text.slice(startOf(node), node.end)
  const startOf = (node: ts.Node) => ts.getTokenPosOfNode(node, source)
  const instead = (kind: string, node: ts.Node, replacement: string): Change => ({
    kind,
    start: startOf(node),
    end: node.end,
    replacement,
  })

  const isTold = (node: ts.Node): node is ts.CallExpression =>
    ts.isCallExpression(node) && TOLD.test(textOf(node.expression))

  function* visit(node: ts.Node): Generator<Change> {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
    if (isTold(node)) {
      // A shape's `.describe()` is the end of a chain. The rest of the chain defines the shape.
      yield* visit(node.expression)
      return
    }
    yield* changesOf(node)
    const children: ts.Node[] = []
    node.forEachChild((child) => void children.push(child))
    for (const child of children) yield* visit(child)
  }

  function* changesOf(node: ts.Node): Generator<Change> {
    if (ts.isBinaryExpression(node)) yield* ofOperator(node)
    else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      yield instead('negation', node, textOf(node.operand))
    } else if (ts.isIfStatement(node)) {
      yield* ofCondition(node.expression)
      if (!node.elseStatement && leaves(node.thenStatement)) yield instead('return', node, '{}')
    } else if (ts.isConditionalExpression(node)) yield* ofCondition(node.condition)
    else if (ts.isAwaitExpression(node)) {
      if (!isTold(node.expression)) yield instead('await', node, textOf(node.expression))
    } else if (ts.isNumericLiteral(node)) yield* ofNumber(node)
    else if (node.kind === ts.SyntaxKind.TrueKeyword) yield instead('flag', node, 'false')
    else if (node.kind === ts.SyntaxKind.FalseKeyword) yield instead('flag', node, 'true')
    else if (ts.isExpressionStatement(node)) yield* ofStatement(node)
    else if (ts.isCallExpression(node)) yield* ofCall(node)
    else if (ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isStringLiteral(node)) {
      if (isSql(node)) {
        const start = startOf(node)
        for (const change of sqlChanges(textOf(node)))
          yield { ...change, start: start + change.start, end: start + change.end }
      }
    }
  }

  function* ofOperator({ left, operatorToken, right }: ts.BinaryExpression): Generator<Change> {
    const other = OPERATORS[textOf(operatorToken)]
    if (other) yield instead(other.kind, operatorToken, other.replacement)
    if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) {
      yield { kind: 'default', start: left.end, end: right.end, replacement: '' }
    }
  }

  /** A comparison is changed in its place. */
  function* ofCondition(condition: ts.Expression): Generator<Change> {
    const isChanged =
      ts.isBinaryExpression(condition) && ['comparison', 'boundary'].includes(kindOf(condition.operatorToken))
    if (isChanged || ts.isPrefixUnaryExpression(condition)) return
    yield instead('condition', condition, `!(${textOf(condition)})`)
  }

  const kindOf = (operator: ts.Node) => OPERATORS[textOf(operator)]?.kind ?? ''

  function* ofNumber(node: ts.NumericLiteral): Generator<Change> {
    const value = Number(textOf(node).replaceAll('_', ''))
    if (!Number.isInteger(value)) return
    // One millisecond more or less of a minute is no mistake.
    if (value > MOST_BY_ONE) yield instead('doubled', node, String(value * 2))
    else yield instead('one-more', node, String(value + 1))
    if (value > 0 && value <= MOST_BY_ONE) yield instead('one-less', node, String(value - 1))
  }

  function* ofStatement(node: ts.ExpressionStatement): Generator<Change> {
    const { expression } = node
    const call =
      ts.isAwaitExpression(expression) || ts.isVoidExpression(expression) ? expression.expression : expression
    if (ts.isCallExpression(call) && !isTold(call)) yield instead('call', node, '{}')
    else if (ts.isBinaryExpression(call) && textOf(call.operatorToken) === '=') yield instead('assignment', node, '{}')
  }

  function* ofCall(node: ts.CallExpression): Generator<Change> {
    const { expression, arguments: given } = node
    const method = ts.isPropertyAccessExpression(expression) ? expression.name.text : ''
    if (ts.isPropertyAccessExpression(expression)) {
      if (CLAUSES.has(method)) yield { kind: 'sql', start: expression.expression.end, end: node.end, replacement: '' }
      const other = METHODS[textOf(expression)] ?? METHODS[`.${method}`]
      if (other) yield instead('method', expression.name, other)
    }
    for (const argument of given) {
      const other = ts.isStringLiteral(argument) && given.length > 1 ? COMPARED[argument.text] : undefined
      if (other) yield instead('sql-operator', argument, `'${other}'`)
    }
    if (CLAUSES.has(method)) return
    for (const [i, first] of given.entries()) {
      const second = given[i + 1]
      if (!second || !isPlain(first) || !isPlain(second) || textOf(first) === textOf(second)) continue
      const between = source.text.slice(first.end, startOf(second))
      const replacement = `${textOf(second)}${between}${textOf(first)}`
      yield { kind: 'arguments', start: startOf(first), end: second.end, replacement }
    }
  }

  function isSql(node: ts.Node): boolean {
    const { parent } = node
    if (ts.isTaggedTemplateExpression(parent)) return /^sql\b/.test(textOf(parent.tag))
    if (ts.isCallExpression(parent) && textOf(parent.expression) === 'sql.raw') return true
    return /^.\s*(select|insert into|update|delete from|with) /i.test(textOf(node))
  }

  yield* visit(source)
}

/** Numbers up to this one are changed by one, larger ones are doubled. */
const MOST_BY_ONE = 999

const OPERATORS: Record<string, { kind: string; replacement: string }> = {
  '<': { kind: 'boundary', replacement: '<=' },
  '<=': { kind: 'boundary', replacement: '<' },
  '>': { kind: 'boundary', replacement: '>=' },
  '>=': { kind: 'boundary', replacement: '>' },
  '===': { kind: 'comparison', replacement: '!==' },
  '!==': { kind: 'comparison', replacement: '===' },
  '&&': { kind: 'logic', replacement: '||' },
  '||': { kind: 'logic', replacement: '&&' },
  '+': { kind: 'operator', replacement: '-' },
  '-': { kind: 'operator', replacement: '+' },
  '*': { kind: 'operator', replacement: '/' },
  '/': { kind: 'operator', replacement: '*' },
  '%': { kind: 'operator', replacement: '*' },
  '+=': { kind: 'operator', replacement: '-=' },
  '-=': { kind: 'operator', replacement: '+=' },
}

const METHODS: Record<string, string> = { 'Math.min': 'max', 'Math.max': 'min', '.some': 'every', '.every': 'some' }

/** Parts of a query that can be left out. */
const CLAUSES = new Set(
  'where whereRef having havingRef on onRef orderBy limit offset distinct $if forUpdate forShare skipLocked'.split(' '),
)

/** Operators that a query is given as text. */
const COMPARED: Record<string, string> = {
  '=': '!=',
  '!=': '=',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  in: 'not in',
  'not in': 'in',
  is: 'is not',
  'is not': 'is',
  asc: 'desc',
  desc: 'asc',
}

const isPlain = (node: ts.Node) =>
  ts.isIdentifier(node) || ts.isPropertyAccessExpression(node) || ts.isStringLiteral(node) || ts.isNumericLiteral(node)

/** Whether nothing after the statement runs. */
function leaves(statement: ts.Node): boolean {
  if (ts.isBlock(statement)) {
    const last = statement.statements.at(-1)
    return last !== undefined && leaves(last)
  }
  return (
    ts.isReturnStatement(statement) ||
    ts.isThrowStatement(statement) ||
    ts.isContinueStatement(statement) ||
    ts.isBreakStatement(statement)
  )
}
