import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'
import { found, type Item, searchMemory, writeMemory } from '../support/slices/memory.ts'

onBothEngines('memory', (service) => {
  test('GET …/effects lists what the run remembered, and not what else was said at that moment', async () => {
    const agent = await newAgent(service())
    const context = { user_id: 'eve', session_id: 's1' }
    const body = { message: 'I live in Oslo', context }
    const { request_id, response } = (await service().call('POST', `/v1/agents/${agent}/invoke`, { body })).body.data
    const path = `/v1/agents/${agent}/invocations/${request_id}`
    const { finished_at: created_at } = (await service().call('GET', path)).body.data
    await writeMemory(service(), agent, [
      { content: 'Said elsewhere', kind: 'turn', role: 'user', context, created_at },
    ])
    const { memories } = (await service().call('GET', `${path}/effects`)).body.data
    assert.deepEqual(
      memories.map(({ content }: { content: string }) => content),
      ['I live in Oslo', response],
    )
  })

  describe('POST /v1/agents/{agent_id}/memory', () => {
    test('201 with every memory as it is kept', async () => {
      const agent = await newAgent(service())
      const body = {
        items: [
          { content: 'Closed on Mondays' },
          {
            content: 'I like my tea black',
            kind: 'turn',
            role: 'user',
            context: { user_id: 'anna', session_id: 's1' },
            metadata: { source: 'import', page: 3 },
            created_at: '2026-01-02T03:04:05+01:00',
          },
        ],
      }
      const reply = await service().call('POST', `/v1/agents/${agent}/memory`, { body })
      assert.equal(reply.status, 201, reply.text)
      const [note, turn] = reply.body.data.items
      assert.match(note.id, /^mem_[0-9A-Z]{26}$/)
      assert.match(turn.id, /^mem_[0-9A-Z]{26}$/)
      const kept = [
        {
          id: note.id,
          content: 'Closed on Mondays',
          kind: 'note',
          role: null,
          user_id: null,
          session_id: null,
          created_at: note.created_at,
          superseded_by: null,
          version: null,
          deployment_id: null,
          metadata: {},
        },
        {
          id: turn.id,
          content: 'I like my tea black',
          kind: 'turn',
          role: 'user',
          user_id: 'anna',
          session_id: 's1',
          created_at: '2026-01-02T02:04:05.000Z',
          superseded_by: null,
          version: null,
          deployment_id: null,
          metadata: { source: 'import', page: 3 },
        },
      ]
      assert.deepEqual(reply.body, { success: true, data: { items: kept } })

      const { data, pagination } = await searchMemory(service(), agent, { query: 'black tea' })
      const { superseded_by: _, ...said } = kept[1] as (typeof kept)[number]
      assert.deepEqual(data, [{ ...said, score: data[0].score, matched: ['words', 'meaning'] }])
      assert.deepEqual(pagination, { limit: 10, offset: 0, total: 1, has_more: false })
    })

    test('is repeated once under an Idempotency-Key', async () => {
      const agent = await newAgent(service())
      const request = { body: { items: [{ content: 'written once' }] }, headers: { 'Idempotency-Key': 'note-1' } }
      const first = await service().call('POST', `/v1/agents/${agent}/memory`, request)
      const second = await service().call('POST', `/v1/agents/${agent}/memory`, request)
      assert.equal(second.headers.get('idempotent-replayed'), 'true')
      assert.deepEqual(second.body, first.body)
      assert.deepEqual(await found(service(), agent, { query: 'written once' }), ['written once'])
    })

    test('400 for anything that is not a memory, and nothing is written', async () => {
      const agent = await newAgent(service())
      const good = { content: 'perfectly fine' }
      const wrong: [object, string][] = [
        [{}, 'items'],
        [{ items: [] }, 'items'],
        [{ items: Array.from({ length: 101 }, () => good) }, 'items'],
        [{ items: [good, { content: '' }] }, 'items.1.content'],
        [{ items: [good, { content: 'x'.repeat(100_001) }] }, 'items.1.content'],
        [{ items: [good, { content: 'x', kind: 'dream' }] }, 'items.1.kind'],
        [{ items: [good, { content: 'x', kind: 'turn' }] }, 'items.1.role'],
        [{ items: [good, { content: 'x', role: 'system' }] }, 'items.1.role'],
        [{ items: [good, { content: 'x', context: { user_id: '' } }] }, 'items.1.context.user_id'],
        [{ items: [good, { content: 'x', context: { user_id: 'u'.repeat(257) } }] }, 'items.1.context.user_id'],
        [{ items: [good, { content: 'x', context: { tenant: 'a' } }] }, 'items.1.context.tenant'],
        [{ items: [good, { content: 'x', created_at: '2026-02-30T00:00:00Z' }] }, 'items.1.created_at'],
        [{ items: [good, { content: 'x', score: 1 }] }, 'items.1.score'],
      ]
      for (const [body, field] of wrong) {
        const reply = await service().call('POST', `/v1/agents/${agent}/memory`, { body })
        assert.equal(reply.status, 400, reply.text)
        assert.equal(reply.body.error.details[0].field, field, reply.text)
      }
      assert.deepEqual(await found(service(), agent, { query: 'perfectly fine' }), [])
    })

    test('takes 100 memories at once and a very long one', async () => {
      const agent = await newAgent(service())
      const items = Array.from({ length: 99 }, (_, i) => ({ content: `shelf ${i} holds jar number ${i}` }))
      const long = {
        content: `needle ${Array.from({ length: 12_000 }, (_, i) => `word${i}`).join(' ')}`.slice(0, 100_000),
      }
      await writeMemory(service(), agent, [...items, long])
      assert.deepEqual(await found(service(), agent, { query: 'needle' }), [long.content])
      const { pagination } = await searchMemory(service(), agent, { query: 'jar', limit: 1 })
      assert.deepEqual(pagination, { limit: 1, offset: 0, total: 99, has_more: true })
    })
  })

  describe('POST /v1/agents/{agent_id}/memory/search', () => {
    test('returns the best first; pages neither repeat nor skip results', async () => {
      const agent = await newAgent(service())
      const items = Array.from({ length: 25 }, (_, i) => ({
        content: `apple ${'pear '.repeat(i % 5)}number${i}`,
        created_at: new Date(Date.UTC(2026, 0, 1 + i)).toISOString(),
      }))
      await writeMemory(service(), agent, items)
      const all = await searchMemory(service(), agent, { query: 'apple', limit: 100 })
      assert.equal(all.data.length, 25)
      const scores = all.data.map(({ score }: { score: number }) => score)
      assert.deepEqual(
        scores,
        scores.toSorted((a: number, b: number) => b - a),
      )
      assert.ok(scores[0] <= 1 && scores.at(-1) > 0)

      const paged: Item[] = []
      for (let offset = 0; offset < 25; offset += 10) {
        const page = await searchMemory(service(), agent, { query: 'apple', limit: 10, offset })
        assert.deepEqual(page.pagination, { limit: 10, offset, total: 25, has_more: offset < 20 })
        paged.push(...page.data)
      }
      assert.deepEqual(paged, all.data)
      const beyond = await searchMemory(service(), agent, { query: 'apple', offset: 1_000_000 })
      assert.deepEqual(beyond, { data: [], pagination: { limit: 10, offset: 1_000_000, total: 25, has_more: false } })
    })

    test('min_score leaves out weaker matches', async () => {
      const agent = await newAgent(service())
      await writeMemory(service(), agent, [
        { content: 'the blue bicycle stands in the cellar' },
        { content: 'the cellar is damp' },
      ])
      const all = await searchMemory(service(), agent, { query: 'where is the blue bicycle, in the cellar?' })
      assert.equal(all.pagination.total, 2)
      const min_score = all.data[0].score
      const best = await searchMemory(service(), agent, {
        query: 'where is the blue bicycle, in the cellar?',
        min_score,
      })
      assert.deepEqual(best.data, [all.data[0]])
      assert.equal(best.pagination.total, 1)
    })

    test('finds an answer by the words of the question before it', async () => {
      const agent = await newAgent(service())
      const context = { user_id: 'anna', session_id: 's1' }
      const say = (role: string, content: string) => ({ kind: 'turn', role, content, context })
      await writeMemory(service(), agent, [
        say('user', 'I would like to book a table'),
        say('assistant', 'For which day, and under which telephone number?'),
        say('user', 'Friday. It is 555 0199'),
        say('assistant', 'Thank you, see you then'),
        say('user', 'Bye'),
        say('assistant', 'Bye'),
        say('user', 'The weather is fine'),
      ])
      const hits = await found(service(), agent, { query: 'What was the telephone number?' })
      assert.equal(hits[0], 'For which day, and under which telephone number?')
      assert.ok(hits.includes('Friday. It is 555 0199'))
      assert.ok(!hits.includes('The weather is fine'))
    })

    test("another user's session of the same name does not affect a result", async () => {
      const agent = await newAgent(service())
      const say = (user_id: string, content: string) => ({
        kind: 'turn',
        role: 'user',
        content,
        context: { user_id, session_id: 'main' },
      })
      await writeMemory(service(), agent, [
        say('anna', 'Under which telephone number?'),
        ...Array.from({ length: 5 }, (_, i) => say('ben', `Boat ${i} leaks`)),
        say('anna', 'It is 555 0199'),
      ])
      const hits = await found(service(), agent, { query: 'telephone', context: { session_id: 'main' } })
      assert.deepEqual(hits, ['Under which telephone number?', 'It is 555 0199'])
    })

    test('finds other words with the same meaning, after exact matches', async () => {
      const agent = await newAgent(service())
      const context = { user_id: 'anna' }
      const content = ['The doctor gave me pills', 'We repainted the fence', 'My physician moved away']
      await writeMemory(
        service(),
        agent,
        content.map((said) => ({ content: said, context })),
      )
      const { data } = await searchMemory(service(), agent, { query: 'Who is my physician?', context })
      assert.deepEqual(
        data.map(({ content: said, matched }: { content: string; matched: string[] }) => [said, ...matched]),
        [
          ['My physician moved away', 'words', 'meaning'],
          ['The doctor gave me pills', 'meaning'],
        ],
      )
    })

    test('a time in the query finds what was said then, and each result says how it was found', async () => {
      const agent = await newAgent(service())
      const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
      const say = (content: string, days: number) => {
        const context = { user_id: 'anna', session_id: content }
        return { kind: 'turn', role: 'user', content, context, created_at: daysAgo(days) }
      }
      await writeMemory(service(), agent, [
        say('The plumber came', 1),
        say('The grades were late', 0),
        say('I bought a kettle', 1),
        say('The kettle leaks', 40),
      ])
      const search = async (query: string) => {
        const { data } = await searchMemory(service(), agent, { query, context: { user_id: 'anna' } })
        return data.map(({ content, matched }: { content: string; matched: string[] }) => [content, ...matched])
      }
      assert.deepEqual(await search('What did I tell you yesterday?'), [
        ['I bought a kettle', 'date'],
        ['The plumber came', 'date'],
      ])
      assert.deepEqual(await search('What about the kettle yesterday?'), [
        ['I bought a kettle', 'words', 'meaning', 'date'],
        ['The plumber came', 'date'],
        ['The kettle leaks', 'words', 'meaning'],
      ])
    })

    test('a day includes its first millisecond and ends before the next day', async () => {
      const agent = await newAgent(service())
      const said = { 'before it': -1, 'as it began': 0, 'as it ended': 86_399_999, 'after it': 86_400_000 }
      const day = Date.parse('2024-03-05T00:00:00Z')
      await writeMemory(
        service(),
        agent,
        Object.entries(said).map(([content, ms]) => ({
          content,
          kind: 'turn',
          role: 'user',
          context: { user_id: 'anna', session_id: content },
          created_at: new Date(day + ms).toISOString(),
        })),
      )
      const asked = { query: 'What did I tell you on 5 March 2024?', context: { user_id: 'anna' } }
      assert.deepEqual((await found(service(), agent, asked)).toSorted(), ['as it began', 'as it ended'])
    })

    test('context limits it to a user, a session, or both', async () => {
      const agent = await newAgent(service())
      const of = (user_id?: string, session_id?: string) => ({
        content: `secret of ${user_id ?? 'nobody'} in ${session_id ?? 'none'}`,
        context: { user_id, session_id },
      })
      await writeMemory(service(), agent, [of(), of('anna'), of('anna', 's1'), of('ben', 's1'), of('ben', 's2')])
      const search = async (context?: object) =>
        (await found(service(), agent, { query: 'secret', context })).toSorted()
      assert.equal((await search()).length, 5)
      assert.deepEqual(await search({ user_id: 'anna' }), ['secret of anna in none', 'secret of anna in s1'])
      assert.deepEqual(await search({ session_id: 's1' }), ['secret of anna in s1', 'secret of ben in s1'])
      assert.deepEqual(await search({ user_id: 'ben', session_id: 's1' }), ['secret of ben in s1'])
      assert.deepEqual(await search({ user_id: 'Anna' }), [])
      assert.deepEqual(await search({ user_id: 'ann' }), [])
    })

    test('finds nothing of another agent', async () => {
      const [one, other] = [await newAgent(service()), await newAgent(service())]
      await writeMemory(service(), one, [{ content: 'the vault code is 4711', context: { user_id: 'anna' } }])
      assert.deepEqual(await found(service(), other, { query: 'vault code', context: { user_id: 'anna' } }), [])
      assert.deepEqual(await found(service(), other, { query: 'vault code' }), [])
    })

    test('treats operators and wildcards as plain text', async () => {
      const agent = await newAgent(service())
      await writeMemory(service(), agent, [{ content: 'plain words' }, { content: '100% of AND "quoted" _x_' }])
      const queries = [
        '%',
        '_',
        '*',
        'pla*',
        '"',
        "'",
        "plain' OR '1'='1",
        'terms:plain',
        'NEAR(plain words)',
        '^plain',
        '-words',
        'plain NOT words',
        '(((',
        ')',
        '\\',
        '!plain | words:*',
        '<->',
        '_turna1x',
      ]
      for (const query of queries) {
        const hits = await found(service(), agent, { query })
        assert.ok(!hits.includes('100% of AND "quoted" _x_'), query)
        assert.equal(hits.includes('plain words'), /plain|words/.test(query), query)
      }
    })

    test('ignores accents, case and endings, and finds words in scripts without spaces', async () => {
      const agent = await newAgent(service())
      const items = [
        'Crème brûlée in the café',
        'She was hiking two hills',
        '昨日は東京で寿司を食べました',
        'Straße ohne Öl',
      ]
      await writeMemory(
        service(),
        agent,
        items.map((content) => ({ content })),
      )
      const cases: [string, string][] = [
        ['CREME BRULEE', items[0] as string],
        ['we hike a hill', items[1] as string],
        ['東京', items[2] as string],
        ['寿司の店', items[2] as string],
        ['STRASSE öl', items[3] as string],
      ]
      for (const [query, hit] of cases) assert.deepEqual(await found(service(), agent, { query }), [hit], query)
      assert.deepEqual(await found(service(), agent, { query: 'the of and what' }), [], 'stop words alone find nothing')
      assert.deepEqual(await found(service(), agent, { query: '🙂 …' }), [])
    })

    test('400 for an invalid search', async () => {
      const agent = await newAgent(service())
      const wrong: [object, string][] = [
        [{}, 'query'],
        [{ query: '' }, 'query'],
        [{ query: 7 }, 'query'],
        [{ query: null }, 'query'],
        [{ query: 'x'.repeat(10_001) }, 'query'],
        [{ query: 'x'.repeat(1_000_000) }, 'query'],
        [{ query: 'x', limit: 0 }, 'limit'],
        [{ query: 'x', limit: 101 }, 'limit'],
        [{ query: 'x', limit: 1e9 }, 'limit'],
        [{ query: 'x', limit: 1.5 }, 'limit'],
        [{ query: 'x', limit: '10' }, 'limit'],
        [{ query: 'x', offset: -1 }, 'offset'],
        [{ query: 'x', min_score: 1.1 }, 'min_score'],
        [{ query: 'x', context: { user_id: 5 } }, 'context.user_id'],
        [{ query: 'x', context: { agent_id: 'a' } }, 'context.agent_id'],
        [{ query: 'x', user_id: 'anna' }, 'user_id'],
      ]
      for (const [body, field] of wrong) {
        const reply = await service().call('POST', `/v1/agents/${agent}/memory/search`, { body })
        assert.equal(reply.status, 400, reply.text)
        assert.equal(reply.body.error.details[0].field, field, reply.text)
      }
    })

    test('answers the longest possible query', async () => {
      const agent = await newAgent(service())
      await writeMemory(service(), agent, [{ content: 'alpha beta' }])
      const long = `alpha ${Array.from({ length: 2000 }, (_, i) => `q${i}`).join(' ')}`.slice(0, 10_000)
      for (const query of [
        long,
        'a'.repeat(10_000),
        '東'.repeat(10_000),
        '\u0301'.repeat(10_000),
        `${'a'.repeat(9_999)}!`,
      ]) {
        assert.deepEqual(await found(service(), agent, { query }), query === long ? ['alpha beta'] : [])
      }
    })
  })
})
