import { z } from 'zod'
import { Time } from '../shapes.ts'

const counts = {
  turns: z.int().describe('Of conversations'),
  notes: z.int().describe('Notes and facts'),
  last_used_at: Time.describe('The time of the newest memory there ever was: to forget it does not set this back'),
}

/** The users of an agent are those that its memory knows by a `user_id`. */
export const AgentUser = z.object({ user_id: z.string(), ...counts }).meta({ id: 'AgentUser' })

export const AgentSession = z
  .object({ session_id: z.string(), user_id: z.string().nullable(), ...counts })
  .meta({ id: 'AgentSession' })
