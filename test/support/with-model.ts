import { type ModelServer, startModelServer } from './model-server.ts'
import { type Engine, type Service, startService } from './service.ts'

/** A service whose provider `local` is a small model server. */
export async function startWithModel(
  engine: Engine,
  settings: Record<string, string> = {},
): Promise<{ service: Service; model: ModelServer; stop(): Promise<void> }> {
  const model = await startModelServer()
  const service = await startService(engine, {
    MOORAGE_PROVIDERS: JSON.stringify([{ name: 'local', baseUrl: model.url }]),
    ...settings,
  })
  const stop = async () => {
    await service.stop()
    await model.close()
  }
  return { service, model, stop }
}
