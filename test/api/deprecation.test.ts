import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { renderApiDocs } from '../../scripts/render-api-docs.ts'
import { openApiDocument } from '../../src/http/reference/openapi.ts'
import { type Deprecation, type Operation, operation } from '../../src/operation.ts'
import { operations } from '../../src/operations.ts'
import { requestSoon } from '../support/running/patience.ts'
import { startService } from '../support/service/service.ts'

const planted = (deprecated: Deprecation | undefined) =>
  operation({
    id: 'getTide',
    method: 'GET',
    path: '/v1/tides/{day}',
    summary: 'Get the tide',
    description: 'Use another one instead.',
    ...(deprecated && { deprecated }),
    access: { permission: 'read' },
    input: { params: z.strictObject({ day: z.string() }) },
    answer: { data: z.object({ day: z.string() }) },
    run: async ({ params }) => params,
  }) as unknown as Operation

const GOING = { since: '2027-01-31', sunset: '2028-02-29' }
const tide = planted(GOING)

/** What docs/compatibility.md promises of a deprecated operation. */
function brokenPromises({ id, description = '', deprecated }: Operation): string[] {
  if (!deprecated) return []
  const [since, sunset] = [deprecated.since, deprecated.sunset].map((day) => {
    const time = new Date(day)
    return /^\d{4}-\d\d-\d\d$/.test(day) && time.toISOString().startsWith(day) ? time : undefined
  })
  if (!since || !sunset) return [`${id}: since and sunset are days`]
  const aYearLater = new Date(since).setUTCFullYear(since.getUTCFullYear() + 1)
  return [
    ...(sunset.getTime() < aYearLater ? [`${id}: clients have at least a year`] : []),
    ...(/instead/.test(description) ? [] : [`${id}: the description says what to use instead`]),
  ]
}

describe('a deprecated operation', () => {
  test('every reply has the headers Deprecation and Sunset; other operations have neither', async (t) => {
    const service = await startService('sqlite', {}, {}, { operations: [tide, ...operations] })
    t.after(() => service.stop())
    const ask = async (path: string, key: string) => {
      const authorization = { Authorization: `Bearer ${key}` }
      const { status, headers } = await requestSoon(service.url + path, { method: 'GET', headers: authorization })
      return [status, headers.get('deprecation'), headers.get('sunset')]
    }
    const told = ['@1801353600', 'Tue, 29 Feb 2028 00:00:00 GMT']
    assert.equal(Date.UTC(2027, 0, 31) / 1000, 1_801_353_600)
    assert.deepEqual(await ask('/v1/tides/monday', service.admin), [200, ...told])
    assert.deepEqual(await ask('/v1/tides/monday?no=1', service.admin), [400, ...told])
    assert.deepEqual(await ask('/v1/tides/monday', 'mrg_wrong'), [401, ...told])
    assert.deepEqual(await ask('/v1/agents', service.admin), [200, null, null])

    const { body } = await service.call('GET', '/v1/openapi.json')
    const { deprecated, 'x-sunset': sunset, responses } = body.paths['/v1/tides/{day}'].get
    assert.deepEqual({ deprecated, sunset }, { deprecated: true, sunset: GOING.sunset })
    assert.ok(responses['200'].headers['Deprecation'] && responses['200'].headers['Sunset'])
    const shown = [await service.call('GET', '/docs'), await service.call('GET', '/llms.txt')]
    for (const { text } of shown) assert.match(text, /Deprecated[.;](<\/b>)? [Ii]t(&#39;|')s removed on 2028-02-29/)
  })

  test('is marked in the OpenAPI document and the reference', async () => {
    const page = renderApiDocs('<!-- operations -->\n', await openApiDocument([tide]))
    assert.match(
      page,
      /`GET \/v1\/tides\/\{day\}` · permission `read`\n\n\*\*Deprecated\.\*\* It's removed on 2028-02-29\./,
    )
    assert.doesNotMatch(
      renderApiDocs('<!-- operations -->\n', await openApiDocument([planted(undefined)])),
      /Deprecated/,
    )
  })

  test('has a sunset late enough, and its description names the replacement', () => {
    assert.deepEqual(operations.flatMap(brokenPromises), [])
    assert.deepEqual(brokenPromises(tide), [])
    for (const wrong of [
      { ...GOING, sunset: '2028-01-30' },
      { ...GOING, sunset: '2028-02-30' },
      { ...GOING, since: 'soon' },
    ])
      assert.equal(brokenPromises(planted(wrong)).length, 1, JSON.stringify(wrong))
    assert.equal(brokenPromises({ ...tide, description: '' }).length, 1)
  })
})
