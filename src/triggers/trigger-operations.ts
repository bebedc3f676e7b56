import { createTrigger } from './create-trigger.ts'
import { deleteTrigger } from './delete-trigger.ts'
import { getTriggerDelivery } from './deliveries/get-incoming.ts'
import { listTriggerDeliveries } from './deliveries/list-incoming.ts'
import { replayTriggerDelivery } from './deliveries/replay-incoming.ts'
import { getTrigger } from './get-trigger.ts'
import { listTriggers } from './list-triggers.ts'
import { testTrigger } from './test-trigger.ts'
import { updateTrigger } from './update-trigger.ts'

/** Requests to a trigger's URL are no operation: they have no key. See `http/server/inlet-page.ts`. */
export const triggerOperations = [
  createTrigger,
  listTriggers,
  getTrigger,
  updateTrigger,
  deleteTrigger,
  testTrigger,
  listTriggerDeliveries,
  getTriggerDelivery,
  replayTriggerDelivery,
] as const
