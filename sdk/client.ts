import { type Body, caller, type ListQuery, readJson } from './call.ts'
import { type Call, type ClientOptions, type RequestOptions, sender } from './request.ts'

export type * from './api.ts'
export { MoorageError } from './errors.ts'
export type { Page, Pages } from './pages.ts'
export type { ClientOptions, RequestOptions } from './request.ts'
export * from './webhook.ts'

export type Client = ReturnType<typeof createClient>

/** A client of one service: every operation of its API is one method. An agent goes by its id or its name. */
export function createClient(options: ClientOptions) {
  const send = sender(options)
  const { call, list } = caller(send)
  type Options = RequestOptions

  return {
    agents: {
      create: (body: Body<'createAgent'>, o?: Options) => call('createAgent', { body }, o),
      list: (query?: ListQuery<'listAgents'>, o?: Options) => list('listAgents', { query }, o),
      get: (agent_id: string, o?: Options) => call('getAgent', { params: { agent_id } }, o),
      update: (agent_id: string, body: Body<'updateAgent'>, o?: Options) =>
        call('updateAgent', { params: { agent_id }, body }, o),
      delete: (agent_id: string, o?: Options) => call('deleteAgent', { params: { agent_id } }, o),
    },
    deployments: {
      create: (agent_id: string, body: Body<'createDeployment'>, o?: Options) =>
        call('createDeployment', { params: { agent_id }, body }, o),
      list: (agent_id: string, query?: ListQuery<'listDeployments'>, o?: Options) =>
        list('listDeployments', { params: { agent_id }, query }, o),
      get: (agent_id: string, deployment_id: string, o?: Options) =>
        call('getDeployment', { params: { agent_id, deployment_id } }, o),
      rollback: (agent_id: string, deployment_id: string, body: Body<'rollbackDeployment'> = {}, o?: Options) =>
        call('rollbackDeployment', { params: { agent_id, deployment_id }, body }, o),
    },
    keys: {
      create: (body: Body<'createKey'>, o?: Options) => call('createKey', { body }, o),
      list: (query?: ListQuery<'listKeys'>, o?: Options) => list('listKeys', { query }, o),
      self: (o?: Options) => call('getSelf', {}, o),
      get: (key_id: string, o?: Options) => call('getKey', { params: { key_id } }, o),
      rotate: (key_id: string, body: Body<'rotateKey'> = {}, o?: Options) =>
        call('rotateKey', { params: { key_id }, body }, o),
      revoke: (key_id: string, o?: Options) => call('revokeKey', { params: { key_id } }, o),
    },
    /** Any other request to the service; resolves with the whole body of the reply. */
    async request(request: Call, o?: Options): Promise<unknown> {
      return readJson(await send(request, o))
    },
  }
}
