import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { newAgent } from '../support/service/agents.ts'
import { onOneEngine } from '../support/service/service.ts'

onOneEngine('what a request asks for', (service) => {
  describe('Accept', () => {
    const JSON_TYPE = 'application/json; charset=utf-8'
    const CSV = 'text/csv; charset=utf-8'
    const typeOf = async (method: string, path: string, accept: string, body?: object) => {
      const { status, text, headers } = await service().call(method, path, { headers: { Accept: accept }, body })
      assert.equal(status, 200, text)
      return headers.get('content-type')
    }

    for (const [accept, type] of [
      ['text/csv', CSV],
      ['Text/CSV;q=0.9, application/json;q=0.5', CSV],
      ['text/csv, */*;q=0.1', CSV],
      ['application/json, text/csv;q=0.1', JSON_TYPE],
      ['text/csv;q=0.5, */*', JSON_TYPE],
      ['text/csv;q=0', JSON_TYPE],
      ['*/*', JSON_TYPE],
    ] as const) {
      test(`${accept}: usage as ${type}`, async () => {
        assert.equal(await typeOf('GET', '/v1/usage', accept), type)
      })
    }

    test('a stream is sent if the client prefers it at least as much as JSON', async () => {
      const agent = await newAgent(service())
      const invoke = (accept: string) => typeOf('POST', `/v1/agents/${agent}/invoke`, accept, { message: 'Ahoy' })
      assert.match((await invoke('application/json, text/event-stream')) ?? '', /^text\/event-stream/)
      assert.match((await invoke('text/event-stream;q=0.9, application/json;q=0.8')) ?? '', /^text\/event-stream/)
      assert.equal(await invoke('application/json, text/event-stream;q=0.5'), JSON_TYPE)
      assert.equal(await invoke('application/json, text/event-stream;q=0'), JSON_TYPE)
    })
  })

  describe('the query', () => {
    test('empty pairs are nothing', async () => {
      for (const query of ['?limit=10&', '?&limit=10', '?limit=10&&offset=0', '?&', '?']) {
        assert.equal((await service().call('GET', `/v1/agents${query}`)).status, 200, query)
      }
    })

    test('400 that says so for a value without a name', async () => {
      const { status, body } = await service().call('GET', '/v1/agents?limit=10&=1')
      assert.equal(status, 400)
      assert.deepEqual(fieldsOf(body), ['(query)'])
    })
  })
})
