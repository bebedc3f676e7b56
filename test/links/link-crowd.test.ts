import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createLink, VisitorBrowser } from '../support/slices/links.ts'

/** Answers from what it remembers of the user. Each call costs a dollar. */
const DEAR = { model: 'builtin/recall' }
const SETTINGS = {
  MOORAGE_PRICES: JSON.stringify([{ model: DEAR.model, input: 0, output: 0, request: 1 }]),
  MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1/32',
}
const VISITORS = 100
const ANSWERS = 150

onAnyEngine(
  'a link with many visitors at once',
  (service) => {
    test('none reads what another wrote, the budget ends politely, and other sites are refused', async () => {
      const agent = await newAgent(service(), DEAR)
      const link = await createLink(service(), agent, { limits: { cost_usd: ANSWERS } })
      const crowd = Array.from({ length: VISITORS }, (_, i) => {
        const browser = new VisitorBrowser(service(), link)
        const address = { 'X-Forwarded-For': `203.0.113.${i}` }
        const say = (message: string) =>
          browser.call('/messages', { method: 'POST', body: { message }, headers: address })
        return { browser, address, say, word: `secret${i}word` }
      })
      const first = await Promise.all(crowd.map(({ say, word }) => say(`My word is ${word}`)))
      assert.deepEqual([...new Set(first.map(({ status }) => status))], [200])
      const second = await Promise.all(crowd.map(({ say }) => say('What is my word? What did anyone say?')))
      const refused = second.filter(({ status }) => status !== 200)
      assert.equal(refused.length, 2 * VISITORS - ANSWERS)
      for (const { status, body, headers } of refused) {
        assert.deepEqual([status, body.error.code, headers.get('retry-after')], [429, 'budget_exceeded', null])
        assert.match(body.error.message, /^This chat has reached its limit .*Thank you/)
      }

      const read = await Promise.all(
        crowd.map(({ browser, address }) => browser.call('/messages', { headers: address })),
      )
      for (const [i, { word }] of crowd.entries()) {
        const told = [first[i], second[i], read[i]].map((reply) => reply?.text).join('\n')
        const words = new Set(told.match(/secret\d+word/g))
        assert.deepEqual([...words], [word])
      }
      const foreign = { Origin: 'https://evil.example.com', 'Sec-Fetch-Site': 'cross-site' }
      const refusals = await Promise.all(
        crowd.map(({ browser, address }) => browser.call('/messages', { headers: { ...address, ...foreign } })),
      )
      assert.deepEqual([...new Set(refusals.map(({ status }) => status))], [403])
      const { data } = (await service().call('GET', `/v1/agents/${agent}/links/${link.id}`)).body
      assert.deepEqual(data.used, { visitors: VISITORS, messages: 2 * VISITORS, cost_usd: ANSWERS })
    })
  },
  SETTINGS,
)
