import { z } from 'zod'

/** Identifies a run that another run has called. */
export const ChildShape = z
  .object({ request_id: z.string(), agent_id: z.string(), agent: z.string().describe("The agent's name") })
  .meta({ id: 'ChildRun' })
