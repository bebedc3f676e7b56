import { z } from 'zod'
import { MemoryReply } from '../../memory/memory.ts'
import { NamedFile, ReceiptAttachment } from '../attachments/attachment-shape.ts'
import { LeftOutShape } from '../steps/receipt-steps.ts'

const PromptCall = z.object({ id: z.string(), name: z.string(), arguments: z.unknown() })

const ShownMessage = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().describe('The beginning, if the text is long'),
  characters: z.int().describe('The length of the whole text'),
  calls: z.array(PromptCall).optional().describe('The tools that the model called in this answer'),
  name: z.string().optional().describe('The tool that returned this result'),
  attachments: z
    .array(ReceiptAttachment)
    .optional()
    .describe('The files of the message, and how they were sent to the model'),
  files: z.array(NamedFile).readonly().optional().describe('What the tool returned in addition to text'),
})

export const ShownPrompt = z
  .object({
    step: z.int().describe('The position of the model step in the receipt'),
    model: z.string(),
    temperature: z.number().nullable(),
    messages: z.array(ShownMessage),
    memories: z
      .array(
        MemoryReply.extend({
          score: z.number(),
          shown: z.boolean().describe('false if it was left out because the prompt was too long'),
        }),
      )
      .describe('The recalled memories, best matches first'),
    left_out: LeftOutShape.nullable().describe('What was left out because the prompt was too long'),
    output_schema: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('The JSON Schema that the answer had to match'),
    tools: z
      .array(z.object({ type: z.enum(['http', 'mcp', 'ask_person', 'agent', 'caller']), name: z.string() }))
      .describe('The tools that the model could call; for an MCP server, its URL'),
    notes: z.array(z.string()).describe('How this differs from the original prompt'),
  })
  .meta({ id: 'Prompt' })
export type ShownPrompt = z.input<typeof ShownPrompt>

export type ShownMessage = z.input<typeof ShownMessage>

const LONGEST = 20_000
const SHORTEST = 1_000
const TOGETHER = 400_000

/** The beginning of each message. The more messages there are, the shorter the part that is shown. */
export function cutMessages(messages: readonly Omit<ShownMessage, 'characters'>[]): ShownMessage[] {
  const longest = Math.max(SHORTEST, Math.min(LONGEST, Math.floor(TOGETHER / messages.length)))
  return messages.map(({ content, ...rest }) => {
    return { ...rest, content: content.slice(0, longest).toWellFormed(), characters: content.length }
  })
}
