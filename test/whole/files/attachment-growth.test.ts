import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { storeOf } from '../../support/inside.ts'
import { startVisionProviders } from '../../support/outside/vision-providers.ts'
import { ENGINES, type Service, startService } from '../../support/service/service.ts'
import { uploaded } from '../../support/slices/files.ts'
import { createAgent } from '../../support/slices/resources.ts'

const MESSAGES = 200
const MOST_BYTES = 2_048
const PNG_HEAD = Buffer.from('iVBORw0KGgoAAAANSUhEUg', 'base64')

/** How large the database is, without the bytes of files. */
async function sizeOf(node: Service): Promise<number> {
  const db = storeOf(node)
  if (node.engine === 'sqlite') {
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db)
    const { rows: sizes } = await sql<{ page_size: number }>`pragma page_size`.execute(db)
    return Number(rows[0]?.page_count) * Number(sizes[0]?.page_size)
  }
  const { rows } = await sql<{ bytes: number }>`
    select sum(pg_total_relation_size(relid)) as bytes from pg_stat_user_tables where relname <> 'blob_chunks'`.execute(
    db,
  )
  return Number(rows[0]?.bytes)
}

for (const engine of ENGINES) {
  test(`a message with an image of 10 MB makes the database less than 2 KB larger than one without, on ${engine}`, async (t) => {
    const providers = await startVisionProviders()
    t.after(() => providers.close())
    const service = await startService(engine, providers.settings)
    t.after(() => service.stop())
    await createAgent(service, 'gpt', { model: 'openai/gpt-4o' })
    await createAgent(service, 'blind', { model: 'blind/tiny' })
    const image = Buffer.concat([PNG_HEAD, Buffer.alloc(10_000_000, 7)])
    const file_id = await uploaded(service, image, { type: 'image/png', query: '?name=photo.png' })
    const invoke = async (agent: string, attachments: object[]) => {
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Look', attachments } })
      assert.equal(reply.status, 200, reply.text)
    }
    providers.chat.reply({ text: ['seen'] })
    await invoke('gpt', [{ file_id }])
    const shown = providers.chat.requests.at(-1)?.body.messages.at(-1)?.content as unknown as {
      image_url?: { url: string }
    }[]
    assert.equal(shown[1]?.image_url?.url.length, 'data:image/png;base64,'.length + Math.ceil(image.length / 3) * 4)
    providers.chat.reset()

    const growth = async (attachments: object[]) => {
      const earlier = await sizeOf(service)
      for (let i = 0; i < MESSAGES; i += 10)
        await Promise.all(Array.from({ length: 10 }, () => invoke('blind', attachments)))
      return ((await sizeOf(service)) - earlier) / MESSAGES
    }
    await growth([])
    const [bare, attached] = [await growth([]), await growth([{ file_id }])]
    t.diagnostic(`${engine}: ${bare} bytes a message without, ${attached} with an image of 10 MB`)
    assert.ok(attached - bare < MOST_BYTES, `${attached - bare} bytes`)
  })
}
