import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeOf } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import { newAgent } from '../support/service/agents.ts'
import { onEveryEngine } from '../support/service/service.ts'

onEveryEngine('a stored item that does not fit its shape', (service) => {
  const damage = async (id: string) => {
    const db = storeOf(service())
    alterStore(db)
    await db.updateTable('invocations').set({ status: 'sunk', error: null }).where('id', '=', id).execute()
  }

  test('is left out of lists, which show all others, and is named in the log', async () => {
    const agent = await newAgent(service())
    const ids: string[] = []
    for (const message of ['one', 'two', 'three']) {
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message } })
      ids.push(body.data.request_id)
    }
    const [first, second = '', third] = ids
    await damage(second)
    for (const path of [`/v1/agents/${agent}/invocations`, `/v1/invocations?agent_id=${agent}`]) {
      const { status, body, text } = await service().call('GET', path)
      assert.equal(status, 200, text)
      const shown = body.data.map((receipt: { id?: string; request_id?: string }) => receipt.request_id ?? receipt.id)
      assert.deepEqual(shown, [third, first])
      assert.equal(body.pagination.total, 3)
    }
    const told = service()
      .log()
      .split('\n')
      .filter((line) => line.includes(second) && line.includes('is damaged'))
      .map((line) => JSON.parse(line))
    assert.equal(told.length, 1, 'both lists meet it, and it is told once a minute')
    assert.equal(told[0].level, 'warn')
    assert.match(told[0].msg, /^The stored item req_\w+ is damaged: .*status.* It is left out$/)
  })
})
