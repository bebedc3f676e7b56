import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { untilHolds } from '../../support/running/until.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

inConsole('feedback in the console', (visit, service) => {
  before(() => createAgent(service(), 'pilot'))
  const invoke = async (message: string, context: object = {}): Promise<string> => {
    const { body, text } = await service().call('POST', '/v1/agents/pilot/invoke', { body: { message, context } })
    assert.ok(body.data, text)
    return body.data.request_id
  }
  const rate = async (request_id: string, body: object) => {
    const reply = await service().call('PUT', `/v1/agents/pilot/invocations/${request_id}/feedback`, { body })
    assert.equal(reply.status, 200, reply.text)
  }
  const stored = async (request_id: string) => {
    const { body } = await service().call('GET', `/v1/feedback?request_id=${request_id}&sort=created_at`)
    return body.data.map((one: { key: string; score: number; comment: string | null }) => [
      one.key,
      one.score,
      one.comment,
    ])
  }

  test('the playground rates an answer with the keyboard, with a comment, and takes it back', async () => {
    const request_id = await invoke('Where do we anchor?', { session_id: 'play-rated' })
    const { page, leave } = await visit('/agents/pilot?session=play-rated')
    const group = page.getByRole('group', { name: 'Rate this answer' })
    const bad = group.getByRole('button', { name: 'Bad answer' })
    const good = group.getByRole('button', { name: 'Good answer' })
    await bad.focus()
    await page.keyboard.press('Enter')
    await page.getByText('Feedback saved').waitFor()
    assert.deepEqual(
      [await bad.getAttribute('aria-pressed'), await good.getAttribute('aria-pressed')],
      ['true', 'false'],
    )
    assert.deepEqual(await stored(request_id), [['rating', -1, null]])
    await page.getByLabel('Comment (optional)').fill('Not in the lee')
    await page.getByRole('button', { name: 'Save comment' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Comment saved').waitFor()
    assert.deepEqual(await stored(request_id), [['rating', -1, 'Not in the lee']])
    await page.reload()
    await untilHolds(async () => assert.equal(await bad.getAttribute('aria-pressed'), 'true'))
    await group.getByRole('button', { name: 'Edit comment' }).click()
    assert.equal(await page.getByLabel('Comment (optional)').inputValue(), 'Not in the lee')
    await good.click()
    await untilHolds(async () => assert.deepEqual(await stored(request_id), [['rating', 1, 'Not in the lee']]))
    await good.click()
    await page.getByText('Feedback removed').waitFor()
    assert.deepEqual(await stored(request_id), [])
    assert.equal(await good.getAttribute('aria-pressed'), 'false')
    await leave()
  })

  test('the page of a run shows what its user said, and a review does not replace it', async () => {
    const request_id = await invoke('Is the tide in?', { user_id: 'ann' })
    await rate(request_id, { score: -1, comment: 'It was out' })
    const { page, leave } = await visit(`/activity/${request_id}`)
    const list = page.getByRole('list', { name: 'Feedback' })
    await list.getByText('It was out').waitFor()
    await page.getByRole('button', { name: 'Good answer' }).click()
    await untilHolds(async () => assert.equal(await list.getByRole('listitem').count(), 2))
    assert.deepEqual(await stored(request_id), [
      ['rating', -1, 'It was out'],
      ['review', 1, null],
    ])
    await leave()
  })

  test('the list filters by version, score and comment, and leads to the run', async () => {
    for (const [version, score, comment] of [
      ['v1', -1, 'Too short'],
      ['v2', 1, 'Right'],
      ['v2', -0.5, null],
    ] as const) {
      await service().call('POST', '/v1/agents/pilot/deployments', { body: { environment: 'production', version } })
      await rate(await invoke(`of ${version} ${score}`), { score, comment })
    }
    const { page, leave } = await visit('/feedback')
    await page.getByText('Too short').waitFor()
    await page.getByLabel('Version').fill('v2')
    await page.getByText('Too short').waitFor({ state: 'detached' })
    await page.getByLabel('Score', { exact: true }).selectOption('bad')
    await page.getByText('Right').waitFor({ state: 'detached' })
    assert.match(page.url(), /version=v2/)
    await page.getByRole('link', { name: '-0.5' }).click()
    await page.getByText('of v2 -0.5', { exact: true }).first().waitFor()
    await leave()
  })

  test('the metrics of two versions stand beside each other, with tokens and feedback', async () => {
    for (const [version, score] of [
      ['m1', -1],
      ['m2', 0.5],
    ] as const) {
      await service().call('POST', '/v1/agents/pilot/deployments', { body: { environment: 'production', version } })
      await rate(await invoke(`measured ${version}`), { score })
    }
    const { page, leave } = await visit('/agents/pilot/metrics')
    await page.getByLabel('Version', { exact: true }).selectOption('m1')
    await page.getByLabel('Compare with').selectOption('m2')
    for (const [version, score] of [
      ['m1', '-1.00 (1)'],
      ['m2', '0.50 (1)'],
    ] as const) {
      const side = page.getByRole('region', { name: version, exact: true })
      await side.getByText(score).waitFor()
      await side.getByText(/per request/).waitFor()
    }
    assert.match(page.url(), /version=m1&beside=m2/)
    await leave()
  })

  test('a viewer sees feedback and has no buttons to give it', async () => {
    const request_id = await invoke('For a viewer')
    await rate(request_id, { score: 1, comment: 'Seen by all' })
    const { secret } = await createKey(service(), { role: 'viewer' })
    const { page, leave } = await visit(`/activity/${request_id}`, { key: secret })
    await page.getByText('Seen by all').waitFor()
    assert.equal(await page.getByRole('group', { name: 'Rate this answer' }).count(), 0)
    await leave()
  })
})
