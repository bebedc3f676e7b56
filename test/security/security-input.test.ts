import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Operation } from '../../src/operation.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { operationsForKeys, pathOf, SAMPLE_SETTINGS } from '../support/clients/requests.ts'
import { cpuTime } from '../support/running/cpu-time.ts'
import { longestPass } from '../support/running/longest-pass.ts'
import { onOneEngine, type Service } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const MIB = 1_048_576

onOneEngine(
  'input',
  (service) => {
    const post = (body: string | Buffer) => postBytes(service(), '/v1/agents', body)

    describe('400 for a body that is not a JSON object, on every operation with a body', () => {
      const bodies: Record<string, string | Buffer> = {
        nothing: '',
        null: 'null',
        'a list': '[]',
        'a text': '"x"',
        'a number': '7',
        'half an object': '{',
        'half a text': '{"name":"',
        'something behind it': '{"name":"x"} x',
        'two objects': '{}{}',
        'a byte order mark': '\ufeff{"name":"x"}',
        'a comment': '{/* x */"name":"x"}',
        'a trailing comma': '{"name":"x",}',
        'single quotes': "{'name':'x'}",
        'a name without quotes': '{name:"x"}',
        NaN: '{"name":NaN}',
        'an infinity': '{"name":Infinity}',
        'a leading zero': '{"name":01}',
        'a raw line break in a text': '{"name":"a\nb"}',
        'invalid UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
        'overlong UTF-8': Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x7d]),
        'half a surrogate pair in UTF-8': Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d]),
        'half a surrogate pair in an escape': '{"name":"\\ud800"}',
        'U+0000 in an escape': '{"name":"a\\u0000b"}',
        'U+0000 in a name': '{"a\\u0000":1}',
        'U+0000 in a name where any name may stand': '{"name":"x","metadata":{"a\\u0000":1}}',
        __proto__: '{"__proto__":{"polluted":true}}',
        'an escaped __proto__': '{"\\u005f_proto__":{"polluted":true}}',
      }
      for (const [name, body] of Object.entries(bodies)) {
        test(name, async () => {
          for (const operation of operationsForKeys.filter(({ input }) => input?.body && !input.upload)) {
            if (body === '' && operation.input?.bodyOptional) continue
            const reply = await postBytes(service(), pathOf(operation), body, operation.method)
            assert.equal(reply.status, 400, `${operation.id}: ${reply.text}`)
            assert.equal(reply.body.error.code, 'invalid_request')
          }
        })
      }

      test('nothing has reached a prototype', () => {
        assert.equal(({} as { polluted?: unknown }).polluted, undefined)
      })
    })

    describe('depth and size: 400 or 413, and quickly', () => {
      const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth)
      const bodies: Record<string, [body: string, status: number]> = {
        '100 000 lists in each other': [nested('[', ']', 100_000), 400],
        '100 000 objects in each other': [`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 400],
        '1 MiB of [': ['['.repeat(MIB), 400],
        '33 levels': [`{"name":"deep","metadata":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`, 400],
        'brackets in a text are no levels': [`{"name":"flat","description":"${'['.repeat(500)}"}`, 201],
        '80 000 keys': [`{${Array.from({ length: 80_000 }, (_, i) => `"k${i}":0`).join(',')}}`, 400],
        '1 MiB and a byte': [`"${'x'.repeat(MIB - 1)}"`, 413],
        '1 MiB of text': [`{"name":"${'x'.repeat(MIB - 11)}"}`, 400],
        '1 MiB of escapes': [`{"name":"${'\\u0041'.repeat(170_000)}"}`, 400],
      }
      for (const [name, [body, status]] of Object.entries(bodies)) {
        test(name, async () => {
          const before = cpuTime()
          const reply = await post(body)
          const took = cpuTime() - before
          assert.equal(reply.status, status, reply.text)
          assert.ok(reply.text.length < 10_000, 'the answer does not repeat the question')
          assert.ok(took < 1000, `${took} ms`)
        })
      }

      test('32 levels are read', async () => {
        assert.equal((await post(`{"name":"x","metadata":${'['.repeat(31)}${']'.repeat(31)}}`)).status, 400, 'a list')
        const { status } = await post(`{"name":"deep","metadata":{"a":${'['.repeat(30)}${']'.repeat(30)}}}`)
        assert.equal(status, 201)
      })

      test('the service answers others meanwhile', async () => {
        const longest = await longestPass(async () => {
          const heavy = Array.from({ length: 10 }, () => post('['.repeat(MIB)))
          assert.equal((await service().call('GET', '/healthz')).status, 200)
          await Promise.all(heavy)
        })
        assert.ok(longest < 500, `${longest} ms`)
      })
    })

    describe('numbers', () => {
      const invoke = async (context: string) => {
        const reply = await postBytes(service(), '/v1/agents/hello/invoke', `{"message":"hi","context":${context}}`)
        return { ...reply, details: reply.body.error?.details }
      }

      const lost: Record<string, [context: string, field: string]> = {
        'beyond what a number can be': ['{"a":1e400}', 'context.a'],
        'far below zero': ['{"a":[0,{"b":-1E+309}]}', 'context.a.1.b'],
        'too small to be anything': ['{"a":1e-400}', 'context.a'],
        'a whole number with more digits than are kept': ['{"x":"y","a":9007199254740993}', 'context.a'],
        'one that would come back rounded': ['{"a":{"id":1152921504606846976}}', 'context.a.id'],
        'a negative one': ['{"\\"q":[1,2,-12345678901234567890]}', 'context."q.2'],
        'a whole number with a point': ['{"a":9007199254740993.0}', 'context.a'],
        'a whole number with an exponent': ['{"a":9007199254740993e0}', 'context.a'],
        'a whole number of many digits with a point': ['{"a":12345678901234567890.00}', 'context.a'],
        '400 digits': [`{"a":${'9'.repeat(400)}}`, 'context.a'],
      }
      for (const [name, [context, field]] of Object.entries(lost)) {
        test(`400 that names the field: ${name}`, async () => {
          const { status, text, details } = await invoke(context)
          assert.equal(status, 400, text)
          assert.deepEqual(details, [{ field, error: "is a number that can't be stored exactly; send it as a string" }])
        })
      }

      test('in every free object of every operation', async () => {
        const bodies: [path: string, body: string, field: string][] = [
          ['/v1/agents', '{"name":"big","metadata":{"n":1e999}}', 'metadata.n'],
          ['/v1/agents', '{"name":"hot","temperature":1e400}', 'temperature'],
          [
            '/v1/agents/hello/memory',
            '{"items":[{"content":"x","metadata":{"n":90071992547409931}}]}',
            'items.0.metadata.n',
          ],
        ]
        for (const [path, body, field] of bodies) {
          const reply = await postBytes(service(), path, body)
          assert.equal(reply.status, 400, reply.text)
          assert.equal(reply.body.error.details[0].field, field)
        }
      })

      test('stored text is returned unchanged', async () => {
        const kept = [
          0, -0.5, 9007199254740991, -9007199254740991, 2.5066282746310002, 1e21, 1.5e300, 5e-324, 1e-7, 100,
        ]
        const { body, text } = await invoke(JSON.stringify({ kept, quoted: '1e400 12345678901234567890' }))
        const path = `/v1/agents/hello/invocations/${body.data?.request_id}`
        const receipt = await service().call('GET', path)
        assert.deepEqual(receipt.body.data?.context.kept, kept, text)
        assert.equal((await invoke('{"a":10000000000000000}')).status, 200)
        assert.equal((await invoke('{"a":0.1000000000000000055511151231257827}')).status, 200)
        assert.equal((await invoke('{"a":0e999,"b":-0.0e-9}')).status, 200)
        assert.equal((await invoke('{"a":1e23,"b":100.00,"c":-1.50e2,"d":12345678901234500000.0}')).status, 200)
      })

      test('a body full of them is judged quickly', async () => {
        for (const number of ['1e1', '9007199254740991', '1.2345678901234567']) {
          const list = Array.from({ length: Math.floor(1_000_000 / (number.length + 1)) }, () => number).join(',')
          const before = cpuTime()
          await postBytes(service(), '/v1/agents', `{"name":"full","metadata":{"list":[${list}]}}`)
          const took = cpuTime() - before
          assert.ok(took < 1000, `${number}: ${took} ms`)
        }
      })
    })

    describe('query parameters', () => {
      const lists = operationsForKeys.filter(
        ({ answer, input, method }) => answer.list && input?.query && method === 'GET',
      )
      const bad: Record<string, string[]> = {
        limit: ['0', '-1', '1e2', '0x10', '10.0', '10;drop', '', '9007199254740993', '١٠', ' 10', '+10', '010', 'null'],
        offset: ['-1', '1.5', '', '9007199254740993', '1e400', 'Infinity'],
        sort: [
          '',
          '-',
          '--created_at',
          'password',
          'hash',
          'id;--',
          'created_at,id',
          'CREATED_AT',
          ' id',
          'id desc',
          '__proto__',
        ],
      }
      for (const operation of lists) {
        test(`${operation.id}: 400 that names the parameter, for every wrong limit, offset and sort`, async () => {
          for (const [name, values] of Object.entries(bad)) {
            for (const value of values) {
              const path = `${pathOf(operation)}?${name}=${encodeURIComponent(value)}`
              const { status, body, text } = await service().call('GET', path)
              assert.equal(status, 400, `${path}: ${text}`)
              const fields = fieldsOf(body)
              assert.deepEqual([...new Set(fields)], [name])
            }
          }
        })
      }

      const wrong = ['limit=101', 'limit=10&limit=10', 'limit', 'limit=%zz', 'limit=%ff', 'LIMIT=1', 'limit[]=1']
      for (const query of [
        ...wrong,
        '=',
        '__proto__=1',
        'constructor=1',
        `${'x'.repeat(5000)}=1`,
        'limit=1;offset=2',
      ]) {
        test(`400 for ?${query.slice(0, 40)}`, async () => {
          const { status, body, text } = await service().call('GET', `/v1/agents?${query}`)
          assert.equal(status, 400, text)
          assert.equal(body.error.code, 'invalid_request')
        })
      }

      test('plus signs and percent escapes are decoded', async () => {
        assert.equal((await service().call('GET', '/v1/agents?so%72t=%2dname&l%69mit=5')).status, 200)
      })

      test('a value contains everything after its first equals sign', async () => {
        const { status, body } = await service().call('GET', '/v1/agents?sort=name=x')
        assert.equal(status, 400, 'it is not taken for sort=name')
        assert.equal(body.error.details[0].field, 'sort')
      })
    })

    describe('messages and searches', () => {
      for (const message of ['null', '123', '[]', '{}', '""', `"${'x'.repeat(100_001)}"`]) {
        test(`400 for the message ${message.slice(0, 10)}`, async () => {
          const reply = await postBytes(service(), '/v1/agents/hello/invoke', `{"message":${message}}`)
          assert.equal(reply.status, 400, reply.text)
          assert.equal(reply.body.error.details[0].field, 'message')
        })
      }

      test('400 without a message, naming it', async () => {
        const { status, body } = await postBytes(service(), '/v1/agents/hello/invoke', '{}')
        assert.equal(status, 400)
        assert.equal(body.error.details[0].field, 'message')
      })

      test('names of JavaScript in a context are inert', async () => {
        const context = {
          constructor: { prototype: { polluted: true } },
          toString: 'x',
          hasOwnProperty: 1,
          user_id: 'u',
        }
        const { status, text } = await service().call('POST', '/v1/agents/hello/invoke', {
          body: { message: 'hi', context },
        })
        assert.equal(status, 200, text)
        assert.equal(({} as { polluted?: unknown }).polluted, undefined)
      })

      for (const search of [
        '{"query":"x","limit":1e9}',
        '{"query":""}',
        `{"query":"${'x'.repeat(900_000)}"}`,
        '{"limit":1}',
      ]) {
        test(`400 for the search ${search.slice(0, 30)}`, async () => {
          const reply = await postBytes(service(), '/v1/agents/hello/memory/search', search)
          assert.equal(reply.status, 400, reply.text)
        })
      }
    })
  },
  SAMPLE_SETTINGS,
)

onOneEngine('special characters and keywords in texts', (service) => {
  const strings = [
    "'; drop table agents; --",
    '" or 1=1',
    "admin'/*",
    '{"$gt":""}',
    '%',
    '_',
    '\\',
    '${7*7}',
    '{{7*7}}',
    '<script>alert(1)</script>',
    '../../../etc/passwd',
    'a\u202eb\u200b\ufeff',
    '\u{1f469}\u200d\u{1f680}',
    'e\u0301',
  ]
  test('are returned unchanged', async () => {
    for (const [index, text] of strings.entries()) {
      const body = { name: `literal-${index}`, description: text, instructions: text, metadata: { [text]: text } }
      const created = await service().call('POST', '/v1/agents', { body })
      assert.equal(created.status, 201, created.text)
      const { data } = (await service().call('GET', `/v1/agents/literal-${index}`)).body
      const { description, instructions, metadata } = data
      assert.deepEqual({ name: body.name, description, instructions, metadata }, body)
    }
    assert.equal((await service().call('GET', '/v1/agents/hello')).status, 200)
  })

  test('match nothing when used as an ID', async () => {
    for (const text of strings) {
      for (const path of ['agents', 'keys', 'webhooks']) {
        const { status } = await service().call('GET', `/v1/${path}/${encodeURIComponent(text)}`)
        assert.equal(status, 404, `${path} ${text}`)
      }
    }
  })

  test('match only themselves when used as a filter', async () => {
    const agent = await createAgent(service(), 'said')
    for (const text of ['100% sure', '100 percent', 'under_score', 'underscore', 'back\\slash']) {
      await service().call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: text, context: { user_id: text } },
      })
    }
    for (const [filter, count] of [
      ['100% sure', 1],
      ['%', 0],
      ['under_score', 1],
      ['under%', 0],
      ["' or 1=1 --", 0],
    ]) {
      const path = `/v1/agents/said/invocations?user_id=${encodeURIComponent(String(filter))}`
      assert.equal((await service().call('GET', path)).body.pagination.total, count, String(filter))
    }
  })
})

async function postBytes(
  { url, admin }: Service,
  path: string,
  body: string | Buffer,
  method: Operation['method'] = 'POST',
) {
  const headers = { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json' }
  const response = await fetch(url + path, { method, headers, body })
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text) }
}
