import { z } from 'zod'

/** A mailbox that we write to. Addresses with quotes or with characters of other scripts aren't answered. */
export const ADDRESS =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/

/** What a request to a trigger for mail becomes: its payload, without the contents of files. */
export const Mail = z.object({
  /** Null if the message doesn't name exactly one author. */
  from: z.object({ address: z.string(), name: z.string() }).nullable(),
  to: z.array(z.string()),
  subject: z.string(),
  /** What the person wrote, without what they quote. */
  text: z.string(),
  /** Empty if the message has none. */
  message_id: z.string(),
  /** The messages before this one in the thread, oldest first. */
  references: z.array(z.string()),
  /** What mail servers found out about the sender, latest first. */
  authentication_results: z.array(z.string()),
  /** By name in lowercase. Of several headers with the same name, the first one. */
  headers: z.record(z.string(), z.string()),
  attachments: z.array(z.object({ name: z.string(), media_type: z.string(), size: z.number() })),
  sha256: z.string(),
})
export type Mail = z.output<typeof Mail>

/** A file in a message. */
export type MailFile = { name: string; media_type: string; content: Uint8Array<ArrayBuffer> }

export type ReadMail = { mail: Mail; files: MailFile[] }
