import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { embeddingEndpoint } from '../../src/runtime/embedders/embeddings.ts'
import { stopApp, storeOf, wakeJobs } from '../support/inside.ts'
import { conceptsIn, type EmbeddingServer, startEmbeddingServer } from '../support/outside/embedding-server.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { startModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { found, searchMemory, writeMemory } from '../support/slices/memory.ts'
import { createKey } from '../support/slices/resources.ts'

const KEY = 'sk-embedding-key-0123456789'
/** How often missing vectors are looked for, and how long a failing embedder is not called. */
const LATER_MS = 10_000
/** A session that was silent for so long is searched for facts. */
const FACTS_MS = 11 * 60_000

/** Advances the clock until the condition is true. */
async function untilLater(service: Service, what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await until(what, async () => {
    if (await holds()) return true
    service.advance(LATER_MS)
    wakeJobs(service)
    return false
  })
}

/** Moves the clock on and waits until every memory has a vector of the model. */
async function embedded(service: Service, model: string): Promise<void> {
  const db = storeOf(service)
  const missing = () =>
    db
      .selectFrom('memories')
      .leftJoin('memory_vectors', (join) =>
        join.onRef('memory_vectors.memory_seq', '=', 'memories.seq').on('memory_vectors.model', '=', model),
      )
      .where('memory_vectors.model', 'is', null)
      .select('memories.id')
      .execute()
  await untilLater(service, 'every memory is embedded', async () => (await missing()).length === 0)
}

function cosine(a: string, b: string): number {
  const [x, y] = [conceptsIn(a), conceptsIn(b)]
  const dot = x.reduce((sum, value, i) => sum + value * (y[i] as number), 0)
  return dot / (Math.hypot(...x) * Math.hypot(...y))
}

for (const engine of ANY_ENGINE) {
  describe(`memory with an embedding endpoint on ${engine}`, () => {
    let endpoint: EmbeddingServer
    let service: Service

    before(async () => {
      endpoint = await startEmbeddingServer()
      service = await startService(engine, {
        MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
        MOORAGE_MEMORY__EMBEDDER__BASE_URL: endpoint.url,
        MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-1',
        MOORAGE_MEMORY__EMBEDDER__API_KEY: KEY,
        MOORAGE_MEMORY__EMBEDDER__DIMENSIONS: '5',
        ...LOCAL_TOOLS,
      })
    })
    after(async () => {
      await service.stop()
      await endpoint.close()
    })

    test('finds texts that mean the same in other words', async () => {
      const agent = await newAgent(service)
      const [hound, car] = ['Our hound sleeps on the sofa', 'The vehicle is parked outside']
      await writeMemory(service, agent, [{ content: hound }, { content: car }])
      await embedded(service, 'concepts-1:5')
      const { data } = await searchMemory(service, agent, { query: 'Do we have a dog?' })
      assert.deepEqual(
        data.map(({ content, score }: { content: string; score: number }) => [content, score.toFixed(4)]),
        [hound, car].map((content) => [content, (0.3 * cosine(content, 'Do we have a dog?')).toFixed(4)]),
      )
      assert.deepEqual(await found(service, agent, { query: 'Do we have a dog?', min_score: 0.2 }), [hound])
      assert.deepEqual(
        data.map(({ matched }: { matched: string[] }) => matched),
        [['meaning'], ['meaning']],
      )

      const request = endpoint.requests.at(-1)
      assert.equal(request?.path, '/v1/embeddings')
      assert.equal(request?.headers.authorization, `Bearer ${KEY}`)
      const body = { model: 'concepts-1', input: ['Do we have a dog?'], encoding_format: 'float', dimensions: 5 }
      assert.deepEqual(request?.body, body)
      const words = await searchMemory(service, agent, { query: 'Which hound or vehicle sleeps?' })
      assert.deepEqual(words.data[0].matched, ['words', 'meaning'])
    })

    test('is limited to the scope, like any search', async () => {
      const agent = await newAgent(service)
      await writeMemory(service, agent, [
        { content: 'My puppy is ill', context: { user_id: 'anna' } },
        { content: 'My hound is old', context: { user_id: 'ben' } },
      ])
      await embedded(service, 'concepts-1:5')
      assert.deepEqual(await found(service, agent, { query: 'dogs', context: { user_id: 'ben' } }), ['My hound is old'])
    })

    test('a deleted memory leaves no vector behind', async () => {
      const db = storeOf(service)
      const count = async () => (await db.selectFrom('memory_vectors').select('memory_seq').execute()).length
      const agent = await newAgent(service)
      const earlier = await count()
      await writeMemory(service, agent, [{ content: 'a wet day' }, { content: 'rain again' }])
      await embedded(service, 'concepts-1:5')
      assert.equal(await count(), earlier + 2)
      await service.call('DELETE', `/v1/agents/${agent}/memory`)
      assert.equal(await count(), earlier)
    })

    test('searches by keyword while the endpoint fails, and does not call it for every search', async () => {
      const agent = await newAgent(service)
      await writeMemory(service, agent, [{ content: 'The physician is in' }])
      await embedded(service, 'concepts-1:5')
      endpoint.instead((response) => response.writeHead(500).end(`no good, ${KEY}`))
      service.advance(LATER_MS)
      const asked = endpoint.requests.length
      for (const query of ['physician', 'doctor', 'physician']) {
        assert.deepEqual(await found(service, agent, { query }), query === 'doctor' ? [] : ['The physician is in'])
      }
      assert.equal(endpoint.requests.length - asked, 1)
      assert.match(service.log(), /the embedder isn't responding.*/)
      assert.ok(!service.log().includes(KEY))

      endpoint.instead(undefined)
      service.advance(LATER_MS)
      assert.deepEqual(await found(service, agent, { query: 'doctor' }), ['The physician is in'])
    })

    test('memories that could not be embedded are embedded when the endpoint works again', async () => {
      const agent = await newAgent(service)
      endpoint.instead((response) => response.destroy())
      await writeMemory(service, agent, [{ content: 'A rainy afternoon' }])
      const asked = endpoint.requests.length
      await untilLater(service, 'the endpoint is asked', () => endpoint.requests.length > asked)
      endpoint.instead(undefined)
      await embedded(service, 'concepts-1:5')
      assert.deepEqual(await found(service, agent, { query: 'wet' }), ['A rainy afternoon'])
    })

    test('a text that the endpoint rejects is shortened, and finally found only by keyword', async () => {
      const agent = await newAgent(service)
      const long = `hound ${'x'.repeat(5_000)}`
      endpoint.refuse((text) => text.length > 2_000 || text.includes('unspeakable'))
      await writeMemory(service, agent, [
        { content: 'an unspeakable puppy' },
        { content: long },
        { content: 'a puppy' },
      ])
      const similar = async () => (await found(service, agent, { query: 'dog', min_score: 0.2 })).toSorted()
      await untilLater(service, 'two are found', async () => (await similar()).length >= 2)
      assert.deepEqual(await similar(), ['a puppy', long])
      assert.deepEqual(await found(service, agent, { query: 'unspeakable' }), ['an unspeakable puppy'])
      endpoint.refuse(() => false)
      await service.call('DELETE', `/v1/agents/${agent}/memory`)
    })

    test('a memory that changes while it is embedded is found by its new text', async () => {
      const agent = await newAgent(service)
      const db = storeOf(service)
      const vectors = (id: string) =>
        db
          .selectFrom('memory_vectors')
          .innerJoin('memories', 'memories.seq', 'memory_vectors.memory_seq')
          .select('memory_vectors.model')
          .where('memories.id', '=', id)
          .execute()
      const asked = Promise.withResolvers<ServerResponse>()
      endpoint.instead((response) => asked.resolve(response))
      await writeMemory(service, agent, [{ content: 'A hound' }])
      const { id } = (await service.call('GET', `/v1/agents/${agent}/memory`)).body.data[0]
      service.advance(LATER_MS)
      wakeJobs(service)
      const response = await asked.promise
      await service.call('PATCH', `/v1/agents/${agent}/memory/${id}`, { body: { content: 'A vehicle' } })
      const embedding = conceptsIn('A hound')
      endpoint.instead(undefined)
      response.end(JSON.stringify({ data: [{ index: 0, embedding }] }))
      await embedded(service, 'concepts-1:5')
      assert.deepEqual(await vectors(id), [{ model: 'concepts-1:5' }])
      assert.deepEqual(await found(service, agent, { query: 'car', min_score: 0.2 }), ['A vehicle'])
      assert.deepEqual(await found(service, agent, { query: 'dog', min_score: 0.2 }), [])

      // It has a vector by now. Changing it must discard the old content immediately.
      await service.call('PATCH', `/v1/agents/${agent}/memory/${id}`, { body: { content: 'A hound' } })
      assert.deepEqual(await found(service, agent, { query: 'car', min_score: 0.2 }), [])
      await embedded(service, 'concepts-1:5')
      assert.deepEqual(await found(service, agent, { query: 'dog', min_score: 0.2 }), ['A hound'])
    })

    test('a superseded fact is not embedded', async (t) => {
      const model = await startModelServer()
      t.after(model.close)
      const provider = await service.call('PUT', '/v1/providers/reader', { body: { base_url: model.url } })
      assert.equal(provider.status, 200, provider.text)
      const agent = await newAgent(service, { model: 'reader/tiny', memory: { facts: 'model' } })
      const learn = async (session_id: string, ...facts: object[]) => {
        model.reply({ text: ['Noted.'] }, { text: [JSON.stringify({ facts })] })
        const body = { message: 'I have moved', context: { user_id: 'anna', session_id } }
        const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body })
        assert.equal(reply.status, 200, reply.text)
        service.advance(FACTS_MS)
        await untilLater(service, `the fact of ${session_id}`, async () => {
          const { body: listed } = await service.call('GET', `/v1/agents/${agent}/memory?kind=fact&sort=created_at`)
          return listed.data.length === Number(session_id)
        })
      }
      await learn('1', { content: 'Anna lives in Lyon' })
      await learn('2', { content: 'Anna lives in Oslo', supersedes: ['f1'] })
      const progress = async () => (await service.call('GET', '/v1/memory')).body.data.embedding
      await untilLater(service, 'nothing waits', async () => (await progress()).waiting === 0)
      await service.call('DELETE', `/v1/agents/${agent}/memory`)
    })

    test('after a change of the model, older memories are embedded again', async () => {
      const agent = await newAgent(service)
      await writeMemory(service, agent, [{ content: 'An old automobile' }])
      await embedded(service, 'concepts-1:5')
      await stopApp(service)
      const node = await service.beside({ MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-2' })
      try {
        assert.deepEqual(await found(node, agent, { query: 'car' }), [], 'vectors of two models are not compared')
        const progress = async () => (await node.call('GET', '/v1/memory')).body.data.embedding
        const first = await progress()
        assert.equal(first.model, 'concepts-2:5')
        const all = first.embedded + first.waiting
        await embedded(node, 'concepts-2:5')
        assert.deepEqual(await found(node, agent, { query: 'car' }), ['An old automobile'])
        assert.deepEqual(await progress(), { model: 'concepts-2:5', embedded: all, waiting: 0 })
        await node.call('DELETE', `/v1/agents/${agent}/memory`)
        assert.deepEqual(await progress(), { model: 'concepts-2:5', embedded: all - 1, waiting: 0 })
        const scoped = await createKey(node, { permissions: ['read'], agent_id: agent })
        assert.equal((await node.call('GET', '/v1/memory', { key: scoped.secret })).status, 403)
      } finally {
        await node.stop()
      }
    })
  })
}

describe('embeddingEndpoint', () => {
  test('vectors of different models or lengths never have the same name', () => {
    const name = (model: string, dimensions?: number) =>
      embeddingEndpoint({ baseUrl: 'http://127.0.0.1:1', model, ...(dimensions && { dimensions }) }).model
    const names = [name('x'), name('x', 512), name('x:512'), name('x:512:'), name('x:512', 5), name('x:512:5')]
    assert.equal(new Set(names).size, names.length, names.join(' '))
    assert.equal(name('x', 512), 'x:512')
  })

  let endpoint: EmbeddingServer
  before(async () => {
    endpoint = await startEmbeddingServer()
  })
  after(() => endpoint.close())

  const embed = (texts: string[], signal = AbortSignal.timeout(5_000)) =>
    embeddingEndpoint({ baseUrl: `${endpoint.url}/`, model: 'm', apiKey: KEY }).embed(texts, signal)

  test('returns vectors in the order of the texts', async () => {
    assert.deepEqual(await embed(['a dog', 'a car']), { vectors: [conceptsIn('a dog'), conceptsIn('a car')] })
    assert.equal('dimensions' in (endpoint.requests.at(-1)?.body ?? {}), false)
  })

  test("returns vectors even if the endpoint's usage is missing or wrong", async () => {
    for (const usage of [{}, { prompt_tokens: null }, { prompt_tokens: 'two' }, { prompt_tokens: -1 }]) {
      endpoint.report(() => usage)
      assert.deepEqual(await embed(['a dog']), { vectors: [conceptsIn('a dog')] }, JSON.stringify(usage))
    }
    endpoint.report(() => ({ prompt_tokens: 2 }))
    assert.deepEqual(await embed(['a dog']), { vectors: [conceptsIn('a dog')], input_tokens: 2 })
  })

  const json = (body: unknown) => JSON.stringify(body)
  const wrong: [string, number, string, RegExp][] = [
    ['a refusal', 401, json({ error: { message: `bad key ${KEY}` } }), /answered 401$/],
    ['no JSON', 200, '<html>', /not a list of embeddings/],
    ['no list', 200, json({ data: 'none' }), /not a list of embeddings/],
    ['no numbers', 200, json({ data: [{ index: 0, embedding: ['a'] }] }), /not a list of embeddings/],
    ['too few', 200, json({ data: [{ index: 0, embedding: [1] }] }), /1 embeddings for 2 texts/],
    [
      'unequal lengths',
      200,
      json({
        data: [
          { index: 0, embedding: [1] },
          { index: 1, embedding: [1, 2] },
        ],
      }),
      /different lengths/,
    ],
  ]
  for (const [name, status, body, message] of wrong) {
    test(`fails on ${name}, without showing the key`, async () => {
      endpoint.instead((response) => response.writeHead(status).end(body))
      await assert.rejects(embed(['one', 'two']), (error: Error) => {
        assert.match(error.message, message)
        assert.ok(!error.message.includes(KEY))
        return true
      })
      endpoint.instead(undefined)
    })
  }

  test('does not follow redirects', async () => {
    const asked = endpoint.requests.length
    endpoint.instead((response) => response.writeHead(307, { Location: `${endpoint.url}/embeddings` }).end())
    await assert.rejects(embed(['one']))
    endpoint.instead(undefined)
    assert.equal(endpoint.requests.length, asked + 1)
  })

  test('stops waiting when it is aborted', async () => {
    const stop = new AbortController()
    endpoint.instead(() => stop.abort())
    await assert.rejects(embed(['one'], stop.signal), { name: 'AbortError' })
    endpoint.instead(undefined)
  })
})
