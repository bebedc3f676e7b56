// What clients find afterwards, beside what they were promised.
import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../model/run-ends.ts'
import type { Agent, Project, Run, World } from '../model/world.ts'
import { type Client, send } from './client.ts'
import type { Prompt } from './outside.ts'

// The shapes are those of the operations.
// oxlint-disable-next-line typescript/no-explicit-any
type Found = any

/** Everything that the service lists of one project. */
type Seen = {
  agents: Found[]
  webhooks: Found[]
  budgets: Found[]
  files: Found[]
  usage: Found[]
  of: Map<string, { deployments: Found[]; runs: Found[]; memories: Found[]; schedules: Found[] }>
}

export async function lookAt(client: Client, projects: readonly string[]): Promise<Map<string, Seen>> {
  const seen = new Map<string, Seen>()
  for (const project of projects) {
    const all = (path: string) => listAll(client, project, path)
    const [agents, webhooks, budgets, files] = await Promise.all(
      ['/v1/agents', '/v1/webhooks', '/v1/budgets', '/v1/files'].map(all),
    )
    const of: Seen['of'] = new Map()
    for (const { id, name } of agents as Found[]) {
      client.agents.set(id, name)
      const path = `/v1/agents/${name}`
      const lists = ['deployments', 'invocations', 'memory', 'schedules'].map((list) => all(`${path}/${list}`))
      const [deployments, runs, memories, schedules] = (await Promise.all(lists)) as [
        Found[],
        Found[],
        Found[],
        Found[],
      ]
      of.set(name, { deployments, runs, memories, schedules })
      for (const { request_id, message } of runs) {
        if (message) client.runs.set(request_id, String(message).replace(/ .*/s, ''))
      }
    }
    for (const file of files as Found[]) {
      const path = `/v1/files/${file.id}/content`
      file.content = (await send(client, { by: 'root', project }, { method: 'GET', path }))?.body
    }
    const query = '/v1/usage?group_by=agent&from=2020-01-01T00:00:00Z&to=2035-01-01T00:00:00Z'
    const usage = (await send(client, { by: 'root', project }, { method: 'GET', path: query }))?.body
    seen.set(project, { agents, webhooks, budgets, files, usage: usage?.data?.rows ?? usage?.data ?? [], of } as Seen)
  }
  return seen
}

async function listAll(client: Client, project: string, path: string): Promise<Found[]> {
  const items: Found[] = []
  for (;;) {
    const page = `${path}?limit=100&offset=${items.length}`
    const reply = await send(client, { by: 'root', project }, { method: 'GET', path: page })
    if (reply?.status !== 200) throw new Error(`GET ${page} answered ${reply?.status}: ${JSON.stringify(reply?.body)}`)
    items.push(...reply.body.data)
    if (!reply.body.pagination.has_more) {
      const { total } = reply.body.pagination
      if (total !== items.length) throw new Error(`GET ${path} lists ${items.length}, its total is ${total}`)
      return items
    }
  }
}

/** Each difference as a sentence. */
export function differences(world: World, client: Client, seen: Map<string, Seen>): string[] {
  const found: string[] = []
  const compare = (what: string, promised: unknown, actual: unknown) => {
    if (isDeepStrictEqual(promised, actual)) return
    found.push(`${what}: promised ${JSON.stringify(promised)}, found ${JSON.stringify(actual)}`)
  }
  for (const [name, project] of Object.entries(world.projects)) {
    const there = seen.get(name)
    if (there) ofProject(name, project, there, client, compare, world.unsure.length === 0)
  }
  ofOutside(world, client, compare)
  return found
}

type Compare = (what: string, promised: unknown, actual: unknown) => void

function ofProject(
  name: string,
  project: Project,
  there: Seen,
  client: Client,
  compare: Compare,
  isAllStored: boolean,
): void {
  const { agents, budgets, files, webhooks } = project
  const isSure = isAllStored && !Object.values(agents).some(isCutOffIn)
  compare(
    `agents of ${name}`,
    sorted(Object.entries(agents).map(([agent, { status }]) => `${agent} ${status}`)),
    sorted(there.agents.map((agent) => `${agent.name} ${agent.status}`)),
  )
  compare(
    `budgets of ${name}`,
    sorted(
      Object.entries(budgets).map(([budget, { used }]) => `${budget}: ${isSure ? used : 'some'} used, 0 reserved`),
    ),
    sorted(there.budgets.map((one) => `${one.name}: ${isSure ? one.used : 'some'} used, ${one.reserved} reserved`)),
  )
  compare(
    `files of ${name}`,
    sorted(Object.entries(files).map(([file, { content, user }]) => `${file} of ${user}: ${content}`)),
    sorted(there.files.map((file) => `${file.name} of ${file.user_id}: ${file.content}`)),
  )
  compare(
    `webhooks of ${name}`,
    sorted(Object.entries(webhooks).map(([path, { isEnabled }]) => `${path} ${isEnabled ? 'enabled' : 'disabled'}`)),
    sorted(there.webhooks.map(({ url, status }) => `${new URL(url).pathname} ${status}`)),
  )
  if (isSure) compare(`usage of ${name}`, project.usage, usageOf(there.usage, client))
  for (const [agent, promised] of Object.entries(agents)) {
    const actual = there.of.get(agent)
    if (actual) ofAgent(`${agent} of ${name}`, promised, actual, compare)
  }
}

const isCutOffIn = (agent: Agent) => Object.values(agent.runs).some(({ isCutOff }) => isCutOff)

const sorted = (items: string[]) => items.toSorted()

function usageOf(rows: Found[], client: Client) {
  const sums: Project['usage'] = {}
  for (const { agent_id, calls, input_tokens, output_tokens } of rows) {
    const sum = (sums[client.agents.get(agent_id) ?? agent_id] ??= { calls: 0, input: 0, output: 0 })
    sum.calls += calls
    sum.input += input_tokens
    sum.output += output_tokens
  }
  return sums
}

type AgentSeen = NonNullable<ReturnType<Seen['of']['get']>>

function ofAgent(what: string, agent: Agent, there: AgentSeen, compare: Compare): void {
  const environments = Object.entries(agent.deployments).flatMap(([environment, all]) =>
    all.map(({ version, status }) => `${environment} ${version} ${status}`),
  )
  compare(
    `deployments of ${what}`,
    sorted(environments),
    sorted(there.deployments.map((one) => `${one.environment} ${one.version} ${one.status}`)),
  )
  const cutOff = Object.values(agent.runs).filter(({ isCutOff }) => isCutOff)
  const isErasedUnsure = cutOff.some(({ message }) => message === null)
  compare(
    `runs of ${what}`,
    sorted(
      Object.values(agent.runs).map((run) =>
        runText({
          ...run,
          tokens_used: run.isCutOff || (run.message === null && isErasedUnsure) ? 'some' : run.tokens,
        }),
      ),
    ),
    sorted(there.runs.map((run) => runText(seenRun(run, cutOff, isErasedUnsure)))),
  )
  compare(
    `memories of ${what}`,
    sorted(agent.memories.map((one) => memoryText(one.kind, one.role, one.about, one.user, one.session))),
    sorted(
      there.memories.map((one) =>
        memoryText(one.kind, one.role, /\b[mn]\d+/.exec(one.content)?.[0], one.user_id, one.session_id),
      ),
    ),
  )
  compare(
    `schedules of ${what}`,
    sorted(Object.entries(agent.schedules).map(([name, one]) => `${name} ${one.enabled} ${one.missed} missed`)),
    sorted(there.schedules.map((one) => `${one.name} ${one.enabled} ${one.missed} missed`)),
  )
}

function seenRun(run: Found, cutOff: Run[], isErasedUnsure: boolean): Found {
  const isCut = cutOff.some(({ message }) => message && String(run.message).startsWith(`${message} `))
  const isUnsure = isCut || (isErasedUnsure && !run.message)
  const { user_id: user, session_id: session } = run.context ?? {}
  return { ...run, user, session, ...(isUnsure && { tokens_used: 'some', response: null }) }
}

/** Reads a run of the model and a receipt alike. */
function runText(run: Found): string {
  const message = run.message === null || run.message === '' ? 'erased' : String(run.message).replace(/ .*/s, '')
  const { status, response, version, user, session, environment, tokens_used, door } = run
  const said = message === 'erased' ? '' : `: ${response ?? null}, of ${user ?? null} in ${session ?? null}`
  return `${message} ${status} by ${version ?? 'the draft'} in ${environment} through ${door}, ${tokens_used} tokens${said}`
}

const memoryText = (...parts: unknown[]) => parts.map((part) => part ?? '-').join(' ')

function ofOutside(world: World, { outside, runs }: Client, compare: Compare): void {
  compare('what came in', [], outside.wrong)
  const cutOff = runsOf(world).flatMap(([name, { isCutOff }]) => (isCutOff ? [messageOf(name)] : []))
  const unsure = new Set([...world.unsure, ...cutOff])
  const calls = (of: World['outside']) => {
    const made = Object.entries(of).filter(
      ([name, { model, tool, refund }]) => !unsure.has(name) && model + tool + refund > 0,
    )
    return Object.fromEntries(made.toSorted())
  }
  compare('calls of the world outside', calls(world.outside), calls(outside.calls))
  // A day later, or after a failure, a request is carried out again.
  const most = (name: string, kind: 'tool' | 'refund') => Math.max(1, world.outside[name]?.[kind] ?? 0)
  const repeated = Object.entries(outside.calls).filter(
    ([name, { tool, refund }]) => tool > most(name, 'tool') || refund > most(name, 'refund'),
  )
  compare('calls of tools that are never made twice', [], repeated)
  const told = ({ url, type, about }: { url: string; type: string; about: string }) => `${url} ${type} ${about}`
  const arrived = new Map(
    outside.deliveries.map((one) => [one.id + one.url, { ...one, about: runs.get(one.about) ?? one.about }]),
  )
  for (const [id, { type, about }] of arrived) {
    // The model does not say when a threshold of a budget is told, and no client may know a run that was cut off.
    const isUnknown = about.startsWith('req_') && world.unsure.length > 0
    if (type.startsWith('budget.') || isUnknown) arrived.delete(id)
  }
  const [certain, possible] = [world.deliveries.filter((one) => one.certain), world.deliveries]
  const came = [...arrived.values()].map(told)
  compare('events that were not delivered', [], sorted(without(certain.map(told), came)))
  compare('events that nothing caused', [], sorted(without(came, possible.map(told))))
  compare(
    'prompts',
    [],
    outside.prompts.flatMap((prompt) => wrongPrompt(world, prompt)),
  )
}

function runsOf(world: World): [string, Run][] {
  const agents = Object.values(world.projects).flatMap((project) => Object.values(project.agents))
  return agents.flatMap(({ runs }) => Object.entries(runs))
}

function without(some: string[], others: string[]): string[] {
  const left = [...others]
  return some.filter((one) => {
    const at = left.indexOf(one)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** What a model may be shown: docs/memory.md, "Users never see each other's memories." Runs of a schedule have one message. */
function wrongPrompt(world: World, prompt: Prompt): string[] {
  const wrong = runsOf(world)
    .filter(([name]) => messageOf(name) === prompt.message)
    .map(([, run]) => wrongFor(run, prompt))
  return wrong.some(({ length }) => length === 0) ? [] : (wrong[0] ?? [])
}

function wrongFor(run: Run, { message, persona, round, turns, mentioned }: Prompt): string[] {
  const wrong: string[] = []
  if (run.answering.persona !== persona)
    wrong.push(`${message} was answered by ${persona}, not ${run.answering.persona}`)
  const shown = turns.filter((turn) => !turn.endsWith('undefined'))
  if (!isDeepStrictEqual(shown, run.saw)) {
    wrong.push(`${message} saw the turns ${turns.join(', ')}, not ${run.saw.join(', ')}, in round ${round}`)
  }
  const allowed = new Set([message, ...run.knew])
  for (const other of mentioned)
    if (!allowed.has(other)) wrong.push(`${message} was shown ${other}, which is another's`)
  return wrong
}
