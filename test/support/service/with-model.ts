import { type ModelServer, startModelServer } from '../outside/model-server.ts'
import { type Engine, type Service, startService } from './service.ts'

/** The setting of a service that has a provider `local` at this URL. */
export function localProvider(baseUrl: string, more: { apiKey?: string } = {}) {
  return { MOORAGE_PROVIDERS: JSON.stringify([{ name: 'local', baseUrl, ...more }]) }
}

/** A service whose provider `local` is a small model server. */
export async function startWithModel(
  engine: Engine,
  settings: Record<string, string> = {},
  provider: { apiKey?: string } = {},
): Promise<{ service: Service; model: ModelServer; stop(): Promise<void> }> {
  const model = await startModelServer()
  const service = await startService(engine, { ...localProvider(model.url, provider), ...settings })
  const stop = async () => {
    await service.stop()
    await model.close()
  }
  return { service, model, stop }
}
