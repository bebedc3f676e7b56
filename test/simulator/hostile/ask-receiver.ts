import type { Engine } from '../../support/service/service.ts'
import type { HostileStage } from './hostile-stage.ts'
export async function openReceiverStage(_engine: Engine): Promise<HostileStage> {
  throw new Error('not yet')
}
