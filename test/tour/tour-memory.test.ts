import { tour } from '../support/tour/tour.ts'

const ANN = { user_id: 'ann', session_id: 'monday' }

tour('a tour of memories and users', (told, chapter) => {
  const memory = '/v1/agents/hello/memory'
  const items = [
    { content: 'Ann sails the Bella on Mondays', kind: 'fact', context: ANN, metadata: { source: 'log', page: 3 } },
    { content: 'The north pier is closed', kind: 'note', created_at: '2026-02-01T10:00:00Z' },
    { content: 'Where is the pier?', kind: 'turn', role: 'user', context: { user_id: 'bob', session_id: 'tuesday' } },
    { content: 'Bob likes the south pier', kind: 'fact', context: { user_id: 'bob' } },
  ]

  chapter('memory/memory.txt', async () => {
    const { body } = await told.tell('POST', memory, { body: { items } })
    const ids: string[] = body.data.items.map(({ id }: { id: string }) => id)
    await told.tell('GET', `${memory}/${ids[0]}`)
    await told.tell('PATCH', `${memory}/${ids[1]}`, {
      body: {
        content: 'The north pier is open',
        kind: 'fact',
        metadata: { by: 'master' },
        created_at: '2026-02-02T11:00:00Z',
      },
    })
    await told.everySort(memory, '/v1/agents/{agent_id}/memory', ['content'])
    for (const filter of ['user_id=ann', 'session_id=tuesday', 'kind=fact', 'kind=turn', 'limit=2&offset=1'])
      await told.tell('GET', `${memory}?${filter}`, { only: ['content', 'kind'] })
    await told.tell('GET', `${memory}?before=2026-03-01T00:00:00Z`, { only: ['content', 'created_at'] })
    await told.tell('GET', `${memory}?after=2026-03-01T00:00:00Z&sort=id`, { only: ['content'] })
    const search = (query: object) => told.tell('POST', `${memory}/search`, { body: query })
    await search({ query: 'pier' })
    await search({ query: 'who sails on mondays', context: ANN, limit: 2 })
    await search({ query: 'south pier', context: { user_id: 'bob' }, min_score: 0.5 })
    await search({ query: 'pier', limit: 1, offset: 1 })
    await search({ query: 'submarine' })
    await told.tell('GET', '/v1/memory')
    await told.tell('DELETE', `${memory}/${ids[3]}`)
    await told.tell('GET', `${memory}/${ids[3]}`)
  })

  chapter('memory/users.txt', async () => {
    const say = (message: string, context: object) =>
      told.call('POST', '/v1/agents/hello/invoke', { body: { message, context } })
    await say('ahoy', ANN)
    await say('again', ANN)
    await say('good night', { user_id: 'ann', session_id: 'evening' })
    await say('I am Bob', { user_id: 'bob', session_id: 'tuesday' })
    await told.everySort('/v1/agents/hello/users', '/v1/agents/{agent_id}/users', ['user_id', 'last_used_at'])
    await told.tell('GET', '/v1/agents/hello/users?limit=1')
    await told.everySort('/v1/agents/hello/sessions', '/v1/agents/{agent_id}/sessions', ['session_id', 'last_used_at'])
    await told.tell('GET', '/v1/agents/hello/sessions?user_id=ann')
    const summary = '/v1/agents/hello/sessions/monday/summary?user_id=ann'
    await told.tell('GET', summary)
    await told.tell('PUT', summary, { body: { content: 'Ann said ahoy, twice.' } })
    await told.tell('GET', summary)
    await told.tell('GET', '/v1/users/ann/export')
    await told.tell('DELETE', summary)
    await told.tell('DELETE', '/v1/agents/hello/memory?user_id=bob&session_id=tuesday')
    await told.tell('DELETE', '/v1/agents/hello/memory?before=2026-02-20T00:00:00Z')
    await told.tell('DELETE', '/v1/users/ann')
    await told.tell('GET', '/v1/users/ann/export')
    await told.tell('GET', '/v1/agents/hello/memory', { only: ['content'] })
    await told.tell('GET', '/v1/agents/hello/invocations', { only: ['message', 'erased_at'] })
    await told.tell('DELETE', '/v1/agents/hello/memory')
  })

  chapter('memory/files.txt', async () => {
    const upload = (body: string, query: string, type: string) =>
      told.tell('POST', `/v1/files${query}`, { body, headers: { 'Content-Type': type } })
    const { body } = await upload('The tide turns at noon.', '?name=tide.txt&user_id=ann', 'text/plain')
    await upload('a,b\n1,2\n', '?name=table.csv&expires_in_seconds=3600', 'text/csv')
    await upload('{"a":1}', '', 'application/json')
    const file = `/v1/files/${body.data.id}`
    await told.everySort('/v1/files', '/v1/files', ['name', 'size'])
    await told.tell('GET', '/v1/files?limit=1&sort=name')
    for (const filter of ['user_id=ann', 'media_type=text/csv', `after=${body.data.id}&sort=id`])
      await told.tell('GET', `/v1/files?${filter}`, { only: ['name', 'media_type', 'expires_at'] })
    await told.tell('GET', file)
    const content = await told.tell('GET', `${file}/content`, { headersToo: true })
    await told.tell('GET', `${file}/content`, { headers: { 'If-None-Match': content.headers.get('etag') ?? '' } })
    await told.tell('GET', `${file}/content`, { headers: { Range: 'bytes=4-7' } })
    await told.tell('GET', `${file}/content`, { headers: { Range: 'bytes=90-' } })
    await told.tell('HEAD', `${file}/content`)
    await told.tell('DELETE', file)
    await told.tell('GET', `${file}/content`)
  })
})
