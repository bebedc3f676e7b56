import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { setAwakeTimeout } from '../../src/lib/work/awake-timeout.ts'
import { standStill } from '../support/running/stand-still.ts'
import { until } from '../support/running/until.ts'

test('a time limit does not count the time in which the process stood still', async () => {
  let rang = 0
  setAwakeTimeout(() => rang++, 400)
  await standStill(500)
  await delay(1)
  assert.equal(rang, 0)
  await until('the limit is over', () => rang)
  assert.equal(rang, 1)
})

test('a time limit that was cleared never rings, in whichever slice it was', async () => {
  let rang = 0
  const limit = setAwakeTimeout(() => rang++, 40)
  await delay(15)
  limit.clear()
  await delay(60)
  assert.equal(rang, 0)
})
