import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Fetch } from '../../../sdk/request.ts'
import * as agents from '../../agents/store.ts'
import { buildParts } from '../../build-parts.ts'
import { type Config, ConfigError, loadConfig } from '../../config.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { RenderedReply } from '../../http/dialects/dialect.ts'
import { moorage, type PathRoute } from '../../http/dialects/moorage.ts'
import { validate } from '../../http/input/validate.ts'
import { runOperation } from '../../http/pipeline/run-operation.ts'
import { toApiError } from '../../http/pipeline/to-api-error.ts'
import { Router } from '../../http/server/router.ts'
import { createLog } from '../../lib/log.ts'
import { type Actor, workingIn } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import { PLAIN_REPLY } from '../../operation/reply-channel.ts'
import { operations } from '../../operations.ts'
import * as projects from '../../projects/store.ts'
import { defaultRoles } from '../../security/permissions.ts'
import { DEFAULT_PROJECT } from '../../storage/tables/project-tables.ts'
import { EXIT, Failure } from '../failure.ts'
import type { World } from '../world.ts'

export type LocalStore = {
  name: string
  parts: Parts
  /** Runs operations in this process, with all permissions. */
  fetch: Fetch
  close(): Promise<void>
}

/** Opens the store of the service on this machine, whether the service is running or not. */
export async function openLocalStore(
  world: World,
  { config: file, data }: { config?: string; data?: string },
): Promise<LocalStore> {
  const config = readConfig(world, { config: file, data })
  const name = config.database.url ? 'PostgreSQL' : requireFile(config)
  const { parts, close } = await buildParts(config, {
    kind: 'cli',
    ...(world.migrations && { migrations: world.migrations }),
    log: createLog({ ...config.log, level: 'warn', format: 'pretty' }),
  })
  return { name, parts, fetch: localFetch(parts), close }
}

/** Checks that the store exists. Otherwise, opening would create a new store for someone who is in the wrong folder. */
function requireFile({ data }: Config): string {
  const file = join(data, 'moorage.db')
  if (existsSync(file)) return file
  throw new Failure(
    EXIT.notFound,
    `There is no Moorage data in ${data}.`,
    '  Run the command in the folder of the service, or specify the data folder with --data. For a remote service, use `moorage login`.',
  )
}

/** The file of a SQLite store. For PostgreSQL, the command refers to PostgreSQL's own tools. */
export function requireSqlite(config: Config, tool: string): string {
  refusePostgres(config, tool)
  return requireFile(config)
}

export function refusePostgres({ database }: Config, tool: string): void {
  if (!database.url) return
  throw new Failure(EXIT.usage, "This service uses PostgreSQL. Use PostgreSQL's own tools.", `  ${tool}`)
}

export function readConfig(
  { env, serviceFolder }: World,
  { config, data }: { config?: string | undefined; data?: string | undefined },
): Config {
  try {
    return loadConfig({ flags: { config, data }, env, cwd: serviceFolder }).config
  } catch (error) {
    if (error instanceof ConfigError) throw new Failure(EXIT.usage, error.problems.join('\n'))
    throw error
  }
}

export function localFetch(parts: Parts): Fetch {
  const local = localActor(parts.config)
  const routes = new Router<PathRoute>()
  for (const route of moorage.routes(operations)) routes.add(route.method, route.path, route)
  return async (url, { method = 'GET', body, headers }) => {
    const request_id = parts.newId('req', parts.now())
    const { pathname, search } = new URL(url)
    let reply: RenderedReply
    try {
      const found = routes.find(method, pathname)
      if (!found) throw new ApiError('not_found', 'No such path')
      const { value: route, params } = found
      const named = new Headers(headers).get('moorage-project')
      const actor = named === null ? local : workingIn(local, (await projects.get(parts.storage.db, named)).id)
      reply = await run(parts, route, { actor, request_id, path: pathname, params, query: search.slice(1), body })
    } catch (error) {
      reply = moorage.error(toApiError(error, parts.log, request_id), request_id)
    }
    const told = reply.lines ? ReadableStream.from(reply.lines).pipeThrough(new TextEncoderStream()) : reply.body
    return new Response(told, { status: reply.status, headers: reply.headers })
  }
}

type LocalRequest = {
  actor: Actor
  request_id: string
  path: string
  params: Record<string, string>
  query: string
  body: unknown
}

async function run(parts: Parts, { operation, read }: PathRoute, request: LocalRequest) {
  const { actor, request_id, path, params, query, body } = request
  const agent =
    params.agent_id === undefined
      ? undefined
      : await agents.findIn(parts.storage.db, actor.scope.project_id, params.agent_id)
  if (params.agent_id !== undefined) {
    if (!agent) throw notFound('Agent', params.agent_id)
    params.agent_id = agent.id
  }
  const message = { headers: {}, headersDistinct: {} }
  const bytes = body === undefined ? undefined : Buffer.from(String(body))
  const wanted = read({ message, params, query, bytes, request_id })
  const input = {
    params,
    query: wanted.query,
    body: operation.input?.body ? validate(operation.input?.body, wanted.body) : undefined,
  }
  await operation.input?.check?.(input, parts, actor)
  const call = {
    door: 'cli' as const,
    given: undefined,
    uploads: undefined,
    writer: wanted.writer,
    operation,
    input,
    fields: Object.keys(Object(wanted.sent)),
    actor,
    agent_id: agent?.id ?? null,
    path,
    request_id,
    address: null,
    span: undefined,
    closedAgents: async () => [],
  }
  return runOperation(parts, call, PLAIN_REPLY)
}

/** The actor for someone who can open the store, and so may do anything. */
function localActor({ limits }: Config): Actor {
  const fastest = Object.entries(limits.tiers).toSorted(([, a], [, b]) => b.requestsPerMinute - a.requestsPerMinute)[0]
  return {
    kind: 'local',
    id: 'local',
    scope: { project_id: DEFAULT_PROJECT, agent_id: null, user_id: null },
    reach: 'service',
    permissions: defaultRoles.admin,
    tier: fastest?.[0] ?? limits.defaultTier,
    expires_at: null,
  }
}
