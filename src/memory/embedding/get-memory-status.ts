import { z } from 'zod'
import { operation } from '../../operation.ts'
import { countEmbedded } from './vectors.ts'

const MemoryStatus = z
  .object({
    embedding: z
      .object({
        model: z.string().describe('The model, with the length of its vectors if one is configured'),
        embedded: z.int().describe('How many memories have a vector of this model'),
        waiting: z.int().describe('How many memories have no vector yet, including texts that the embedder refuses'),
      })
      .nullable()
      .describe('null without an embedder'),
  })
  .meta({ id: 'MemoryStatus' })

export const getMemoryStatus = operation({
  id: 'getMemoryStatus',
  method: 'GET',
  path: '/v1/memory',
  summary: 'Get memory status',
  description:
    "Returns the embedder's progress. When the embedding model changes, all memories of all agents get new vectors in the background.",
  access: { permission: 'read', reach: 'operator' },
  answer: { data: MemoryStatus },

  async run(_input, { db, embedder }) {
    if (!embedder) return { embedding: null }
    return { embedding: { model: embedder.model, ...(await countEmbedded(db, embedder.model)) } }
  },
})
