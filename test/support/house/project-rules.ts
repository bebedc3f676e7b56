import type { SourceFile } from './imports.ts'

type Source = Pick<SourceFile, 'file' | 'text'>

/**
 * The tables whose rows belong to a project. Rows of all other tables belong to an agent and are found by its number.
 */
const TABLES = [
  'agents',
  'keys',
  'webhooks',
  'listeners',
  'secrets',
  'providers',
  'audit_log',
  'ledger',
  'usage_sums',
  'budgets',
  'files',
].join('|')

/** Functions that concern the rows of all projects, and why. */
export const OF_ALL_PROJECTS: Readonly<Record<string, string>> = {
  'agents/store.ts listAuth': 'whether any agent accepts a token, before it is known whose it is',
  'agents/store.ts listWithMemory': 'work in the background',
  'applications/store.ts removeEnded': 'applications of all projects end in the same way',
  'audit/store.ts findFirstSeq': 'the chain is that of the service',
  'audit/store.ts listSealed': 'the chain is that of the service',
  'audit/store.ts listUnsealed': 'the chain is that of the service',
  'budgets/desk/counter-store.ts listUntold': 'work in the background',
  'budgets/desk/counter-store.ts removeOld': 'rows that are swept up',
  'deployments/store.ts listForgetting': 'work in the background',
  'files/store.ts settleUnclaimed': 'rows that are swept up',
  'invocations/queue/queue-store.ts listWaitingAgents': 'the queue, which sorts by project',
  'keys/personal/role-store.ts listForsakenRoles': 'roles of every project, whose provider is gone',
  'keys/personal/role-store.ts listStaleRoles': 'roles of every project, for which their provider has not vouched',
  'keys/store.ts count': 'whether the service has a key at all',
  'keys/store.ts findAdmin': 'an administrator of the service, for a link that is made on the host',
  'keys/store.ts updateLastUsed': 'the keys that this node has seen, by their ids',
  'people/store.ts removeStrangers': 'people who have no role in any project',
  'replays/running/case-queue.ts survey': 'the cases that are due, which sorts by project',
  'schedules/store.ts listNearest': 'the next ticks, whose schedules they are',
  'service/store.ts countDisabledWebhooks': 'a gauge of the service',
  'triggers/channels/answer-queue.ts survey': 'the answers that are due, which sorts by project',
  'usage/reserved-store.ts takeLapsed': 'work in the background',
  'usage/store.ts move': 'the caller names both projects',
  'usage/store.ts remove': 'rows that are swept up',
  'webhooks/callback-store.ts listRequests': 'the runs that have callbacks, kept in memory',
  'webhooks/callback-store.ts listUntold': 'work in the background',
  'webhooks/callback-store.ts removeOfMissingRuns': 'rows that are swept up',
  'webhooks/delivery/delivery-queue.ts survey': 'the queue, which sorts by project',
  'webhooks/listen/listener-store.ts removeExpired': 'rows that are swept up',
}

const STORE = /(?:^|[/-])(?:store|queue)\.ts$/
const FUNCTION = /^export (?:async )?function\*? (\w+)[\s\S]*?\n\}/gm
const STATEMENT = new RegExp(
  String.raw`(?:From|Table|Into|Join|removeRows)\((?:db, )?'(?:${TABLES})\b|\b(?:from|into|update|join) (?:${TABLES})\b`,
)
const TYPE = /^(?:export )?type (\w+)[\s\S]*?(?=\n\n|$(?![\s\S]))/gm
const TYPE_NAME = /\b[A-Z]\w+/g
const CALLBACK = /\([^()]*\) => /g
const PROJECT = new RegExp(String.raw`\b(?:project_id|ShownAgents|Scope)\b|\bTables\['(?:${TABLES})'\]`)
/** Matches a row's ID, number or hash. The caller has read the row, or has checked it (`uncheckedLookups`). */
const ROW = /\b(?:\w+_)?(?:ids?|seq|hash)\??(?::|\s*[,}])/
/** How many levels of types are searched for one that names a project. */
const DEPTH = 4

type Types = ReadonlyMap<string, string>

/** Store functions with statements on these tables whose parameters name neither a project nor a row. */
export function unboundStatements(sources: readonly Source[]): string[] {
  const all = typesIn(sources.map(({ text }) => text).join('\n\n'))
  return sources
    .filter(({ file }) => STORE.test(file))
    .flatMap(({ file, text }) => {
      const types = new Map([...all, ...typesIn(text)])
      return Array.from(text.matchAll(FUNCTION))
        .filter(([written]) => STATEMENT.test(written) && !isBound(parametersOf(written), types, DEPTH))
        .map(([, name]) => `${file} ${name}`)
    })
}

function typesIn(text: string): Types {
  return new Map(Array.from(text.matchAll(TYPE), ([type, name = '']) => [name, type]))
}

function isBound(text: string, types: Types, depth: number): boolean {
  if (PROJECT.test(text) || ROW.test(text)) return true
  const named = depth > 0 ? (text.match(TYPE_NAME) ?? []) : []
  return named.some((name) => name !== 'Database' && isBound(types.get(name) ?? '', types, depth - 1))
}

/** Parameters of a callback don't limit the statement. */
function parametersOf(written: string): string {
  const text = written.replaceAll(CALLBACK, '')
  const start = text.indexOf('(')
  let depth = 0
  for (let i = start; i < text.length; i++) {
    if (text[i] === '(') depth++
    if (text[i] === ')') depth--
    if (depth === 0) return text.slice(start + 1, i)
  }
  return text
}

const LOOK_UP = /\b(?:budgets|files|keys|webhooks|listeners)\.(?:find|get|lock)\(/
const CHECK = /-in-(?:scope|reach)\.ts'|requireFound\(|actor\.scope\.project_id|person_id/

/** Operations that look up a row by the ID in the request without checking whether the actor may see it. */
export function uncheckedLookups(sources: readonly Source[]): string[] {
  return sources
    .filter(({ text }) => /= operation\(\{/.test(text) && LOOK_UP.test(text) && !CHECK.test(text))
    .map(({ file }) => file)
}
