import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { openAccess } from '../../src/access.ts'
import { SignIns } from '../../src/connections/links/sign-ins.ts'
import type { CallRequest, Dialect, Writer } from '../../src/http/dialects/dialect.ts'
import { moorage } from '../../src/http/dialects/moorage.ts'
import { authorise, authoriseNamed } from '../../src/http/pipeline/guards/authorise.ts'
import { Idempotency } from '../../src/http/pipeline/idempotency/idempotency.ts'
import { pipeline } from '../../src/http/pipeline/pipeline.ts'
import type { ArrivedRequest } from '../../src/http/pipeline/request.ts'
import { runAuthorised } from '../../src/http/pipeline/run-authorised.ts'
import { keyVerifier } from '../../src/keys/verify-key.ts'
import { openLinks } from '../../src/links/open-links.ts'
import { PLAIN_REPLY } from '../../src/operation/reply-channel.ts'
import { operations } from '../../src/operations.ts'
import { openInlet } from '../../src/triggers/receive/inlet.ts'
import { partsOf } from '../support/inside.ts'
import { onOneEngine, type Service } from '../support/service/service.ts'

/** A dialect of another kind of client: a reply is bare text. */
const plain: Dialect = { ...moorage, name: 'plain' }

const writer: Writer = {
  reply: (_operation, result) => ({ status: 200, headers: {}, body: `it is ${(result as { name: string }).name}` }),
  event: () => '',
  replay: () => [],
}

const wanted: CallRequest = {
  body: {},
  query: {},
  sent: {},
  mode: 'reply',
  last_event_id: undefined,
  idempotencyKey: undefined,
  writer,
}

function openPipeline(node: Service) {
  const parts = partsOf(node)
  const access = openAccess(parts)
  const once = new Idempotency(parts)
  const edge = {
    ...access,
    parts,
    operations,
    keys: keyVerifier(parts),
    spendCode: async () => undefined,
    isUnderWay: async () => false,
    idempotency: once,
    inlet: openInlet(parts),
    links: openLinks(keyVerifier(parts), parts),
    applications: undefined,
    pagesFolder: '',
    connect: new SignIns(parts),
    console: undefined,
  }
  const close = async () => {
    access.close()
    await once.close()
  }
  return { edge, steps: pipeline(edge), close }
}

function arrivedWith(key: string): ArrivedRequest {
  const message = new IncomingMessage(new Socket())
  message.headers = { authorization: `Bearer ${key}` }
  const unused = { route: undefined, params: {}, started: 0, path: '/', query: '', headers: {}, secure: false }
  return {
    ...unused,
    message,
    dialect: plain,
    request_id: 'req_test',
    address: '127.0.0.1',
    rate: undefined,
    bytes: undefined,
    cors: undefined,
    visitor: undefined,
    key: undefined,
    trace: { actor: null, agent_id: null },
    span: undefined,
  }
}

function operationOf(id: string) {
  const found = operations.find((operation) => operation.id === id)
  assert.ok(found, id)
  return found
}

onOneEngine('a request with several calls', (service) => {
  test('is authenticated once, and each call is authorised separately, in its own dialect', async () => {
    const { body: mine } = await service().call('POST', '/v1/agents', { body: { name: 'mine' } })
    await service().call('POST', '/v1/agents', { body: { name: 'theirs' } })
    const key = { name: 'reader', permissions: ['read'], agent_id: mine.data.id }
    const { body: made } = await service().call('POST', '/v1/keys', { body: key })
    const { edge, steps, close } = openPipeline(service())
    try {
      const known = await steps.authenticate(arrivedWith(made.data.secret))
      assert.equal(known.actor.id, made.data.id)

      const authorised = await authorise(edge, known, operationOf('getAgent'), { agent_id: 'mine' })
      assert.deepEqual(authorised.params, { agent_id: mine.data.id })
      assert.equal((await runAuthorised(edge, authorised, wanted, PLAIN_REPLY)).body, 'it is mine')

      const refusal = async (id: string, agent_id: string) => authorise(edge, known, operationOf(id), { agent_id })
      await assert.rejects(refusal('getAgent', 'theirs'), { code: 'forbidden' })
      await assert.rejects(refusal('getAgent', 'nobody'), { code: 'forbidden' })
      await assert.rejects(refusal('deleteAgent', 'mine'), { code: 'forbidden' })
      const entry = await authorise(edge, known, operationOf('getAgent'), {})
      const named = async (id: string, agent_id: string) =>
        authoriseNamed(edge, entry, { ...wanted, operation: operationOf(id), params: { agent_id } })
      assert.equal((await named('getAgent', 'mine')).agent?.id, mine.data.id)
      await assert.rejects(named('getAgent', 'theirs'), { code: 'forbidden' })
      await assert.rejects(named('deleteAgent', 'mine'), { code: 'forbidden' })
      await assert.rejects(async () => steps.authenticate(arrivedWith('mrg_none')), { code: 'unauthorized' })
    } finally {
      await close()
    }
  })
})
