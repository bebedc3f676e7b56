import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readImport } from '../../src/cli/import/read-import.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { storageOf } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, startService } from '../support/service/service.ts'
import { writeMemory } from '../support/slices/memory.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/import')
const read = (name: string) => readImport(readFileSync(join(FIXTURES, name), 'utf8'))

describe('readImport', () => {
  test('a Letta agent file: memory blocks become facts, messages become turns, everything else is ignored', () => {
    assert.deepEqual(read('letta-agent.af'), {
      format: 'letta',
      items: [
        { content: 'Name: Vera. Has a small balcony.', kind: 'fact', metadata: { label: 'human' } },
        {
          content: 'When do I plant tomatoes?',
          kind: 'turn',
          role: 'user',
          metadata: { letta_id: 'message-2' },
          created_at: '2025-05-02T08:00:02.000Z',
        },
        {
          content: 'After the last frost, in May.',
          kind: 'turn',
          role: 'assistant',
          metadata: { letta_id: 'message-3' },
          created_at: '2025-05-02T08:00:04.000Z',
        },
      ],
    })
  })

  test('messages of a Letta agent are read', () => {
    const { format, items } = read('letta-messages.json') ?? {}
    assert.equal(format, 'letta')
    assert.deepEqual(
      items?.map(({ role, content }) => `${role}: ${content}`),
      ['user: Is basil an annual?', 'assistant: Yes, it dies with the first frost.'],
    )
  })

  test('memories of mem0 are read', () => {
    assert.deepEqual(read('mem0.json'), {
      format: 'mem0',
      items: [
        {
          content: 'Allergic to nuts',
          kind: 'fact',
          context: { user_id: 'vera', session_id: 'trip-2024' },
          metadata: { source: 'chat', categories: ['health'], mem0_id: '892db2ae-06d9-49e5-8b3e-585ef9b85b8e' },
          created_at: '2024-07-20T08:30:36.275Z',
        },
        {
          content: 'Lives in Lyon',
          kind: 'fact',
          context: { user_id: 'vera' },
          metadata: { mem0_id: '0a14d8f0-e364-4f5c-b305-10da1f0d0878' },
          created_at: '2024-07-21T09:00:00.000Z',
        },
      ],
    })
  })

  test('a time without an offset is UTC, whatever the local time zone', (t) => {
    const { TZ } = process.env
    t.after(() => (TZ === undefined ? delete process.env['TZ'] : (process.env['TZ'] = TZ)))
    process.env['TZ'] = 'America/New_York'
    const timeOf = (created_at: string) =>
      readImport(JSON.stringify([{ memory: 'Lives in Lyon', created_at }]))?.items[0]?.created_at
    for (const text of ['2024-07-21T09:00:00', '2024-07-21 09:00:00', '2024-07-21T09:00:00.000000']) {
      assert.equal(timeOf(text), '2024-07-21T09:00:00.000Z', text)
    }
    assert.equal(timeOf('2024-07-21T09:00:00-04:00'), '2024-07-21T13:00:00.000Z')
  })

  test('other files are not accepted', () => {
    for (const text of ['', '{}', '[]', 'hello', '{"a": 1}', '[1, 2]', '{"results": []}']) {
      assert.equal(readImport(text), undefined, text)
    }
  })
})

describe('moorage memory import and rebuild', () => {
  let service: Service
  let shell: Shell
  before(async () => {
    service = await startService('sqlite')
    shell = newShell(service)
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })

  test("a user's memories can be exported from one agent and imported into another; a second import adds nothing", async () => {
    const [from, to] = [await newAgent(service), await newAgent(service)]
    const context = { user_id: 'vera', session_id: 's1' }
    const items = Array.from({ length: 130 }, (_, i) => ({
      content: `said ${i}`,
      kind: 'turn',
      role: 'user',
      context,
      metadata: { i },
      created_at: new Date(1_700_000_000_000 + i * 1000).toISOString(),
    }))
    await writeMemory(service, from, items)
    const { stdout } = await shell.moorage(['users', 'export', 'vera'])
    writeFileSync(join(shell.folder, 'vera.jsonl'), stdout)
    for (const [imported, imported_before] of [
      [130, 0],
      [0, 130],
    ]) {
      const { stdout: told } = await shell.moorage(['memory', 'import', to, 'vera.jsonl', '--json'])
      assert.deepEqual(JSON.parse(told), { format: 'moorage', imported, imported_before })
    }
    const list = async (agent: string) => {
      const { body } = await service.call('GET', `/v1/agents/${agent}/memory?limit=100&offset=30&sort=created_at`)
      return { ...body, data: body.data.map((memory: object) => ({ ...memory, id: undefined })) }
    }
    assert.deepEqual(await list(to), await list(from))
  })

  test('--user and --session set whose memories they are; --dry-run writes nothing', async () => {
    const agent = await newAgent(service)
    const file = join(FIXTURES, 'letta-agent.af')
    const args = ['memory', 'import', agent, file, '--user', 'vera', '--session', 'letta']
    await shell.moorage([...args, '--dry-run'])
    assert.deepEqual((await service.call('GET', `/v1/agents/${agent}/users`)).body.data, [])
    await shell.moorage(args)
    const { body } = await service.call('GET', `/v1/agents/${agent}/sessions?user_id=vera`)
    const [{ session_id, turns, notes }] = body.data
    assert.deepEqual({ session_id, turns, notes }, { session_id: 'letta', turns: 2, notes: 1 })
  })

  test('a file that is not an export is refused', async () => {
    writeFileSync(join(shell.folder, 'other.json'), '{"a": 1}')
    const { code, stderr } = await shell.moorage(['memory', 'import', 'hello', 'other.json'])
    assert.equal(code, 2)
    assert.match(stderr, /other\.json is not a Moorage, Letta or mem0 export/)
  })

  test('rebuild recounts memories, directly in the database', async () => {
    const agent = await newAgent(service)
    await writeMemory(service, agent, [{ content: 'one', context: { user_id: 'vera' } }])
    const storage = storageOf(service)
    await storage.transaction((db) => db.updateTable('memory_scopes').set({ notes: 77 }).execute())
    const { code, stderr } = await shell.moorage(['memory', 'rebuild', '--data', service.data])
    assert.equal(code, 0, stderr)
    const { body } = await service.call('GET', `/v1/agents/${agent}/users`)
    assert.equal(body.data[0].notes, 1)
  })
})
