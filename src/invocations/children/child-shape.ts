import { z } from 'zod'

/** Names a run that another has called. */
export const ChildShape = z
  .object({ request_id: z.string(), agent_id: z.string(), agent: z.string().describe("The agent's name") })
  .meta({ id: 'ChildRun' })
