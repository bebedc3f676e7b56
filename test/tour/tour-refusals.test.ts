import {
  bodySchema,
  operationsForKeys,
  pathOf,
  querySchemas,
  resolve,
  type Schema,
  sampleBody,
} from '../support/clients/requests.ts'
import type { Reply } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'
import { tour } from '../support/tour/tour.ts'

const SETTINGS = {
  MOORAGE_SECURITY__CORS__ORIGINS: 'https://app.example.com',
  MOORAGE_SECURITY__CORS__MAX_AGE: '600',
  MOORAGE_LIMITS__TIERS: JSON.stringify({ tiny: { requestsPerMinute: 2, burst: 2 } }),
}

tour(
  'a tour of refusals',
  (told, chapter) => {
    const line = ({ status, body }: Reply) => {
      const { code, message, details = [] } = body.error ?? {}
      const rows = details.map(({ field, error }: { field: string; error: string }) => `\n    ${field}: ${error}`)
      return body.error ? `${status} ${code}: ${message}${rows.join('')}` : `${status}`
    }

    chapter('refusals/bodies.txt', async () => {
      for (const operation of operationsForKeys) {
        const schema = bodySchema(operation)
        if (!schema || operation.input?.upload) continue
        const send = async (title: string, body: unknown) => {
          const reply = await told.service.call(operation.method, pathOf(operation), { body })
          told.say(`${operation.id}, ${title}\n  ${line(reply)}`)
        }
        if (!operation.input?.bodyOptional) await send('nothing', {})
        await send('every field of a wrong type', wrongOf(schema))
        const beyond = { ...sampleBody(operation), ...(beyondOf(schema) as object) }
        if (JSON.stringify(beyond).length < 900_000) await send('every field beyond its limits', beyond)
        told.say('')
      }
    })

    chapter('refusals/queries.txt', async () => {
      for (const operation of operationsForKeys) {
        const parameters = querySchemas(operation)
        if (parameters.length === 0 || operation.input?.upload) continue
        const send = async (title: string, valueOf: (schema: Schema) => unknown) => {
          const given = parameters.map(({ name, schema }) => [name, valueOf(resolve(schema))] as const)
          const query = new URLSearchParams(
            given.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
          )
          if (query.size === 0) return
          const reply = await told.service.call(operation.method, `${pathOf(operation)}?${query}`, {
            body: sampleBody(operation),
          })
          if (reply.status !== 404) told.say(`${operation.id}, ${title}\n  ${line(reply)}`)
        }
        await send('every parameter wrong', (schema) =>
          schema.type === 'string' && !schema.format && !schema.pattern && !schema.enum ? undefined : 'surprise',
        )
        await send('every parameter beyond its limits', (schema) =>
          schema.type === 'integer' ? Number(schema.maximum ?? 0) + 1 : undefined,
        )
        await send('every parameter empty', () => '')
      }
    })

    chapter('refusals/requests.txt', async () => {
      const json = { 'Content-Type': 'application/json' }
      const agents = '/v1/agents'
      await told.tell('GET', agents, { key: null })
      await told.tell('GET', agents, { headers: { Authorization: 'Basic abc' } })
      await told.tell('GET', agents, { key: 'mrg_wrong' })
      await told.tell('PUT', agents, { body: {} })
      await told.tell('GET', '/v1/nowhere')
      await told.tell('GET', '/nowhere')
      await told.tell('POST', agents, { body: '{"name":', headers: json })
      await told.tell('POST', agents, { body: '["a"]', headers: json })
      await told.tell('POST', agents, { body: '{"name":"a","name":"b"}', headers: json })
      await told.tell('POST', agents, {
        body: 'name=a',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      })
      await told.tell('POST', agents)
      await told.tell('POST', agents, { body: `{"name":"${'x'.repeat(1_100_000)}"}`, headers: json })
      await told.tell('GET', `${agents}?limit=5&limit=6`)
      await told.tell('GET', `${agents}?surprise=1`)
      await told.tell('POST', agents, { body: { name: 'hello' } })
      await told.tell('POST', agents, { body: { name: 'once' }, headers: { 'Idempotency-Key': 'key-1' } })
      await told.tell('POST', agents, { body: { name: 'once' }, headers: { 'Idempotency-Key': 'key-1' } })
      await told.tell('POST', agents, { body: { name: 'twice' }, headers: { 'Idempotency-Key': 'key-1' } })
      await told.tell('POST', agents, { body: { name: 'thrice' }, headers: { 'Idempotency-Key': 'x'.repeat(300) } })
      await told.tell('GET', agents, { headers: { 'Moorage-Project': 'nowhere' } })
      const { secret } = await createKey(told.service, { role: 'viewer', tier: 'free' })
      await told.tell('GET', agents, { key: secret, headers: { 'Moorage-Project': 'nowhere' } })
      await told.tell('DELETE', `${agents}/hello`, { key: secret })
      for (let count = 0; count < 105; count++) await told.service.call('GET', '/v1/keys/self', { key: secret })
      // The clock continues with each request that is told, and lets one more in.
      told.time -= 1_000
      await told.tell('GET', agents, { key: secret, headersToo: true })
      told.time += 2_000
      await told.tell('GET', agents, { key: secret })
    })

    chapter('refusals/cors.txt', async () => {
      const from = { Origin: 'https://app.example.com' }
      const asks = {
        ...from,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization, idempotency-key',
      }
      const tell = (method: string, path: string, headers: Record<string, string>, key?: null) =>
        told.tell(method, path, { headers, headersToo: true, ...(key === null && { key }) })
      await tell('OPTIONS', '/v1/agents', asks, null)
      await tell('OPTIONS', '/v1/agents/hello/invoke', asks, null)
      await tell('OPTIONS', '/v1/agents', { ...asks, Origin: 'https://evil.example.com' }, null)
      await tell('OPTIONS', '/v1/agents', {}, null)
      await tell('GET', '/v1/agents', from)
      await tell('GET', '/v1/agents', { Origin: 'https://evil.example.com' })
      await tell('GET', '/v1/agents', from, null)
    })
  },
  SETTINGS,
)

/** A value of another type than the schema wants, in each of its fields. */
function wrongOf(given: Schema, depth = 0): unknown {
  const schema = resolve(given)
  if (schema.type === 'object' && schema.properties && depth < 3) {
    const fields = Object.entries(schema.properties as Record<string, Schema>)
    return Object.fromEntries(fields.map(([name, field]) => [name, wrongOf(field, depth + 1)]))
  }
  if (schema.type === 'array' && depth < 3) return [wrongOf(schema.items as Schema, depth + 1)]
  const variants = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  const inner = variants?.find((one) => /object|array/.test(String(resolve(one).type)))
  if (inner && depth < 2) return wrongOf(inner, depth + 1)
  if (variants) return { surprise: 1 }
  return schema.type === 'string' ? 7 : 'surprise'
}

/** A value that is larger or longer than the schema allows, where it says so. */
function beyondOf(given: Schema, depth = 0): unknown {
  const schema = resolve(given)
  if (schema.type === 'object' && schema.properties && depth < 3) {
    const fields = Object.entries(schema.properties as Record<string, Schema>)
    const told = fields.map(([name, field]) => [name, beyondOf(field, depth + 1)] as const)
    const known = told.filter(([, value]) => value !== undefined)
    return known.length > 0 || depth === 0 ? Object.fromEntries(known) : undefined
  }
  const variants = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (variants) return variants.map((one) => beyondOf(one, depth + 1)).find((value) => value !== undefined)
  if (typeof schema.maximum === 'number') return schema.maximum + 1
  if (typeof schema.maxLength === 'number' && schema.maxLength <= 20_000) return 'x'.repeat(schema.maxLength + 1)
  if (typeof schema.maxItems === 'number' && schema.maxItems <= 200)
    return Array.from({ length: schema.maxItems + 1 }, () => 'x')
  return undefined
}
