import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import { ApiError } from '../../../errors.ts'
import type { OperationCalls } from '../operation-calls.ts'
import { readPage } from './task-pages.ts'

type ShownCallback = { id: string; request_id: string; name: string | null; url: string }

/**
 * The URLs at which a client wants to be notified about a task. They are stored as callbacks of the run. Their
 * credentials are never shown.
 */
export class PushConfigs {
  readonly #calls: OperationCalls

  constructor(calls: OperationCalls) {
    this.#calls = calls
  }

  /** `beside` is set if the request's Idempotency-Key belongs to something else that the request does. */
  async create(config: TaskPushNotificationConfig, beside?: string): Promise<TaskPushNotificationConfig> {
    const input = {
      params: this.#run(config),
      body: callbackBody(config),
      sent: config,
      ...(beside !== undefined && { beside }),
    }
    return shown((await this.#calls.run<ShownCallback>('createCallback', input)).data)
  }

  async get(asked: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    const params = { ...this.#run(asked), callback_id: asked.id }
    return shown((await this.#calls.run<ShownCallback>('getCallback', { params })).data)
  }

  async list(asked: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> {
    const { limit, offset } = readPage(asked)
    const input = { params: this.#run(asked), query: { limit, offset, sort: 'created_at' } }
    const { data, pagination } = await this.#calls.run<ShownCallback[]>('listCallbacks', input)
    return { configs: data.map(shown), nextPageToken: pagination.has_more ? String(offset + limit) : '' }
  }

  /** Deleting a configuration twice is fine, so only the task must exist. */
  async remove(asked: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    const params = this.#run(asked)
    try {
      await this.#calls.run('deleteCallback', { params: { ...params, callback_id: asked.id } })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
      await this.#calls.run('getInvocation', { params })
    }
  }

  #run({ taskId }: { taskId: string }) {
    return { agent_id: this.#calls.runner.agent?.id ?? '', request_id: taskId }
  }
}

/** The configuration in the form of our own API. */
export function callbackBody({ id, url, token, authentication }: TaskPushNotificationConfig) {
  const { scheme = '', credentials = '' } = authentication ?? {}
  return {
    url,
    format: 'a2a',
    ...(id !== '' && { name: id }),
    ...(token !== '' && { token }),
    ...(scheme !== '' && credentials !== '' && { authorization: `${scheme} ${credentials}` }),
  }
}

function shown({ id, request_id, name, url }: ShownCallback): TaskPushNotificationConfig {
  return { tenant: '', id: name ?? id, taskId: request_id, url, token: '', authentication: undefined }
}
