import assert from 'node:assert/strict'
import { Session } from 'node:inspector/promises'
import { test } from 'node:test'
import { partsOf } from '../support/inside.ts'
import { startService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

/** What one warm request may run. A change that needs more lays another wire through the path: say why in its commit. */
const MOST = { files: 74, functions: 262, lookups: 4, rows: 6 }
const KINDS = ['files', 'functions', 'lookups', 'rows'] as const

const OF_HOUSE = /\/src\/[^?]*\.ts$/

test(`an echo run takes ${MOST.lookups} look-ups, ${MOST.files} files, ${MOST.functions} functions and ${MOST.rows} rows`, async (t) => {
  const service = await startService('sqlite')
  t.after(() => service.stop())
  const agent = await createAgent(service, 'echo')
  const invoke = async () => {
    const headers = { authorization: `Bearer ${service.admin}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ message: 'ahoy' })
    const reply = await fetch(`${service.url}/v1/agents/${agent}/invoke`, { method: 'POST', headers, body })
    assert.equal(reply.status, 200, await reply.text())
  }
  const lookups = () => {
    const { samples } = partsOf(service).telemetry.lookups.read()
    return samples.reduce((sum, { value }) => sum + value, 0)
  }
  let rows = 0
  const { journal } = partsOf(service)
  const { commit } = journal
  journal.commit = (entry) => {
    rows += entry.writes.length
    return commit(entry)
  }
  for (let i = 0; i < 20; i++) await invoke()

  const session = new Session()
  session.connect()
  t.after(() => session.disconnect())
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const seen: (typeof MOST)[] = []
  const least = (what: keyof typeof MOST) => Math.min(...seen.map((each) => each[what]))
  const isNarrow = () => KINDS.every((what) => least(what) <= MOST[what])
  // What the service does in the background may fall into a request, on a busy machine into most of them. So the
  // narrowest of several requests counts.
  for (let i = 0; i < 200 && !isNarrow(); i++) {
    const before = { lookups: lookups(), rows }
    await session.post('Profiler.takePreciseCoverage')
    await invoke()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result
      .filter(({ url }) => OF_HOUSE.test(url))
      .map(({ functions }) => functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length)
      .filter((functions) => functions > 0)
    seen.push({
      files: ran.length,
      functions: ran.reduce((sum, functions) => sum + functions, 0),
      lookups: lookups() - before.lookups,
      rows: rows - before.rows,
    })
  }
  for (const what of KINDS) {
    assert.ok(least(what) > 1 && least(what) <= MOST[what], `${least(what)} ${what}, at most ${MOST[what]}`)
    t.diagnostic(`${least(what)} ${what}`)
  }
})
