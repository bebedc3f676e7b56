import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSamples } from '../support/clients/prometheus.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine } from '../support/service/service.ts'

onAnyEngine('the busiest projects in the telemetry', (service) => {
  /** What is told of each project by a series. */
  const told = async (series: string): Promise<Record<string, number>> => {
    const { text } = await service().call('GET', '/metrics')
    const found = readSamples(text).filter(({ name }) => name === series)
    return Object.fromEntries(found.map(({ labels, value }) => [labels['project'], value]))
  }

  test('names ten by runs, and those that exceed their rate or store the most', async () => {
    const ids: string[] = []
    for (let number = 0; number < 12; number++) {
      const limits = number === 11 ? { requests_per_minute: 6, stored_bytes: 1_000_000_000 } : {}
      const { body } = await service().call('POST', '/v1/projects', { body: { name: `p${number}`, limits } })
      ids.push(body.data.id)
      const headers = { 'Moorage-Project': body.data.id }
      await service().call('POST', '/v1/agents', { body: { name: 'echo' }, headers })
      // The first two are the least busy.
      for (let run = 0; run < (number < 2 ? 1 : 2); run++) {
        const { status, text } = await service().call('POST', '/v1/agents/echo/invoke', {
          body: { message: 'hi' },
          headers,
        })
        assert.equal(status, 200, text)
      }
    }
    const last = ids.at(-1) ?? ''
    const runs = await until('all runs are counted', async () => {
      const counted = await told('moorage_project_runs_total')
      return Object.values(counted).every((count) => count === 2) && counted
    })
    assert.deepEqual(Object.keys(runs).toSorted(), ids.slice(2).toSorted())
    const headers = { 'Moorage-Project': last }
    await until(
      'its rate is exceeded',
      async () => (await service().call('GET', '/v1/agents', { headers })).status === 429,
    )
    assert.deepEqual(Object.keys(await told('moorage_project_limited_total')), [last])
    assert.deepEqual(Object.keys(await told('moorage_project_stored_bytes')), [last])
  })
})
