import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { z } from 'zod'
import { type Client, createClient } from '../../sdk/client.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { readBody } from '../support/outside/local-server.ts'
import { receive } from '../support/outside/receiver.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const Receipt = z.object({ shop: z.string(), total: z.number(), note: z.string().optional() })
const SCHEMA = { type: 'object', properties: { shop: { type: 'string' } }, required: ['shop'] } as const
const VALUE = { shop: 'Chandler', total: 12.5 }
const SCRIPT = { model: 'builtin/script', script: { rules: [{ output: VALUE }] } }

describe('structured answers in the SDK, the command line and webhooks', () => {
  let service: Service
  let client: Client
  let shell: Shell
  before(async () => {
    service = await startService('sqlite', {
      MOORAGE_WEBHOOKS__ALLOW_INSECURE: 'true',
      MOORAGE_WEBHOOKS__ALLOWED_CIDRS: '127.0.0.0/8',
    })
    client = createClient({ url: service.url, key: service.admin })
    shell = newShell(service)
    await createAgent(service, 'clerk', { ...SCRIPT, output: { schema: SCHEMA } })
    await createAgent(service, 'scripted', SCRIPT)
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })

  test('a zod shape types the value', async () => {
    const { output, response } = await client.agents.invoke('scripted', { message: 'read it', output: Receipt })
    const total: number = output.total
    const note: string | undefined = output.note
    assert.deepEqual([output, total, note, response], [VALUE, 12.5, undefined, JSON.stringify(VALUE)])
  })

  test('a JSON Schema types it, too', async () => {
    const { output } = await client.agents.invoke('scripted', { message: 'read it', output: { schema: SCHEMA } })
    const shop: string = output.shop
    assert.equal(shop, 'Chandler')
    // @ts-expect-error the schema knows no such property
    assert.equal(output.owner, undefined)
  })

  test('a stream ends with it', async () => {
    const drafts: string[] = []
    for await (const event of client.agents.stream('scripted', { message: 'read it', output: Receipt })) {
      if (event.type === 'output.delta') drafts.push(event.text)
      if (event.type === 'done') assert.equal(event.data.output.shop, 'Chandler')
    }
    assert.equal(drafts.join(''), JSON.stringify(VALUE))
  })

  test('what does not fit is an error with its details', async () => {
    const asked = client.agents.invoke('scripted', { message: 'read it', output: { schema: { type: 'array' } } })
    await assert.rejects(asked, { code: 'output_invalid', details: [{ field: '', error: 'must be a list' }] })
  })

  test('moorage invoke --output prints the value alone', async () => {
    const { code, stdout, stderr } = await shell.moorage(['invoke', 'clerk', 'read it', '--output'])
    assert.deepEqual([code, JSON.parse(stdout), stderr], [0, VALUE, ''])
  })

  test('--schema takes JSON or a file', async () => {
    writeFileSync(join(shell.folder, 'receipt.json'), JSON.stringify(SCHEMA))
    for (const schema of ['receipt.json', JSON.stringify(SCHEMA)]) {
      const { code, stdout } = await shell.moorage(['invoke', 'scripted', 'read it', '--schema', schema])
      assert.deepEqual([code, JSON.parse(stdout)], [0, VALUE])
    }
    const missing = await shell.moorage(['invoke', 'scripted', 'read it', '--schema', 'gone.json'])
    assert.equal(missing.code, 2)
    assert.match(missing.stderr, /gone.json can't be read \(ENOENT\)/)
    const unfit = await shell.moorage(['invoke', 'scripted', 'read it', '--schema', '{"type":"array"}'])
    assert.deepEqual([unfit.code, unfit.stdout], [1, ''])
    assert.match(unfit.stderr, /must be a list/)
    const words = await shell.moorage(['invoke', 'hello', 'ahoy', '--output'])
    assert.deepEqual([words.code, words.stdout], [1, ''])
    assert.match(words.stderr, /The answer contains no structured output/)
  })

  test('webhooks receive the value', async (t) => {
    const heard: string[] = []
    const receiver = await receive(t, async (request, response) => {
      heard.push(await readBody(request))
      response.end()
    })
    const hook = { agent_id: 'clerk', url: receiver.url, events: ['agent.completed'] }
    assert.equal((await service.call('POST', '/v1/webhooks', { body: hook })).status, 201)
    await service.call('POST', '/v1/agents/clerk/invoke', { body: { message: 'read it' } })
    const body = await until('the delivery', () => heard[0])
    const { data } = JSON.parse(body)
    assert.deepEqual([data.output, data.response], [VALUE, JSON.stringify(VALUE)])
  })
})
