import { z } from 'zod'
import { Time } from '../shapes.ts'

const counts = {
  turns: z.int().describe('Turns of conversations'),
  notes: z.int().describe('Notes and facts'),
  last_used_at: Time.describe("The time of the newest memory ever written; deleting memories doesn't change it"),
}

/** The users of an agent are those whose `user_id` is in its memory. */
export const AgentUser = z.object({ user_id: z.string(), ...counts }).meta({ id: 'AgentUser' })

export const AgentSession = z
  .object({ session_id: z.string(), user_id: z.string().nullable(), ...counts })
  .meta({ id: 'AgentSession' })
