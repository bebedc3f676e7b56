import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashOf } from '../../../src/audit/audit-entry.ts'
import { removeOldEntries } from '../../../src/audit/chain.ts'
import { list as listAuditLog } from '../../../src/audit/store.ts'
import { inConsole } from '../../support/console/console.ts'
import { partsOf, storeOf } from '../../support/inside.ts'
import { type LocalServer, readBody, startLocalServer } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { approver } from '../../support/slices/approvals.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

const EVERY_AGENT = { project_id: 'prj_default', only: null, except: [] }
const TEN_MINUTES = 600_000

inConsole(
  'approvals and the system in the console',
  (visit, service) => {
    let shop: LocalServer
    const refunds: unknown[] = []
    before(async () => {
      shop = await startLocalServer(async (request, response) => {
        refunds.push(JSON.parse(await readBody(request)))
        response.end('"refunded"')
      })
      await createAgent(service(), 'payer', {
        model: 'builtin/script',
        tools: [
          {
            type: 'http',
            name: 'refund',
            method: 'POST',
            url: `${shop.url}/refund`,
            input_schema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
            approval: 'always',
          },
          { type: 'ask_person' },
        ],
        script: {
          rules: [
            { match: { contains: 'money' }, call: { tool: 'refund', arguments: { amount: 250 } } },
            {
              match: { contains: 'way' },
              call: { tool: 'ask_person', arguments: { question: 'Left or right?', options: ['left', 'right'] } },
            },
          ],
        },
      })
    })
    after(() => shop.close())
    const invoke = async (message: string, key?: string) => {
      const { secret } = key ? { secret: key } : await createKey(service(), { role: 'caller' })
      const asked = { key: secret, body: { message } }
      const { status, body, text } = await service().call('POST', '/v1/agents/payer/invoke', asked)
      assert.equal(status, 202, text)
      return body.data.request_id as string
    }
    const ended = (request_id: string) =>
      until('the end of the run', async () => {
        const { body } = await service().call('GET', `/v1/agents/payer/invocations/${request_id}`)
        return body.data.status === 'completed' ? body.data : undefined
      })

    test('a call is approved with other arguments, another is rejected with a note, a question is answered', async () => {
      const { secret } = await createKey(service(), { name: 'boss', permissions: ['read', 'approve'] })
      const first = await invoke('my money')
      const { page, expect, leave } = await visit('/approvals', { key: secret, isHurried: true })
      const card = page.getByRole('article', { name: 'Call to refund' })
      await card.getByText('amount: 250').waitFor()
      const badge = page.getByRole('navigation', { name: 'Console' }).getByText('1 waiting')
      await badge.waitFor()
      await card.getByRole('button', { name: 'Change arguments' }).click()
      await card.getByLabel('Arguments (JSON)').fill('{"amount": "much"}')
      expect(/400/)
      await card.getByRole('button', { name: 'Approve' }).click()
      await card.locator('textarea[aria-invalid=true]').waitFor()
      await card.getByText('arguments.amount: must be a number').waitFor()
      assert.deepEqual(refunds, [])
      await card.getByLabel('Arguments (JSON)').fill('{"amount": 20}')
      await card.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('No approvals waiting').waitFor()
      await badge.waitFor({ state: 'detached' })
      await ended(first)
      assert.deepEqual(refunds, [{ amount: 20 }])

      const second = await invoke('my money again')
      // Arguments that were edited before are not used.
      await card.getByRole('button', { name: 'Change arguments' }).click()
      await card.getByLabel('Arguments (JSON)').fill('{"amount": 10}')
      await card.getByLabel('Note').fill('not today')
      await card.getByRole('button', { name: 'Reject' }).click()
      await page.getByText('No approvals waiting').waitFor()
      const { steps } = await ended(second)
      assert.match(JSON.stringify(steps), /not today/)
      assert.equal(refunds.length, 1)

      const third = await invoke('which way')
      const question = page.getByRole('article', { name: 'Question' })
      await question.getByText('Left or right?').waitFor()
      await question.getByRole('button', { name: 'right' }).click()
      await page.getByText('No approvals waiting').waitFor()
      assert.match(JSON.stringify(await ended(third)), /right/)

      await page.getByLabel('Status').selectOption('approved')
      await card.getByText('amount: 20').waitFor()
      await leave()
    })

    test('a second approver sees that the decision was already made', async () => {
      const { secret } = await createKey(service(), { name: 'slow', permissions: ['read', 'approve'] })
      const other = await createKey(service(), { name: 'quick', permissions: ['read', 'approve'] })
      const request_id = await invoke('more money')
      // The page gets no updates meanwhile.
      const { page, expect, leave, settled } = await visit('/approvals', { key: secret, isStill: true })
      const card = page.getByRole('article', { name: 'Call to refund' })
      await card.waitFor()
      expect(/409/)
      const { body } = await service().call('GET', `/v1/approvals?request_id=${request_id}`)
      const path = `/v1/agents/payer/invocations/${request_id}/approvals/${body.data[0].call_id}`
      const decided = await service().call('POST', path, { key: other.secret, body: { decision: 'reject' } })
      assert.equal(decided.status, 200, decided.text)
      await card.getByRole('button', { name: 'Approve' }).click()
      await settled()
      await card.getByRole('alert').getByText('conflict').waitFor()
      await leave()
    })

    test('the starter of a run, and a user without the permission, see that another key must decide', async () => {
      const secret = await approver(service())
      const request_id = await invoke('money of mine', service().admin)
      const { page, leave } = await visit('/approvals', { isHurried: true })
      const card = page.getByRole('article', { name: 'Call to refund' })
      await card.getByText("The key that started a run can't decide on its approvals. Use a key that").waitFor()
      for (const name of ['Approve', 'Reject', 'Change arguments']) {
        assert.ok(await card.getByRole('button', { name }).isDisabled(), name)
      }
      const { secret: viewer } = await createKey(service(), { name: 'looks on', role: 'viewer' })
      const onlooker = await visit(`/approvals?request=${request_id}`, { key: viewer })
      const seen = onlooker.page.getByRole('article', { name: 'Call to refund' })
      await seen.getByText('Deciding requires the permission `approve`').waitFor()
      assert.equal(await seen.getByRole('button', { name: 'Approve' }).count(), 0)
      await onlooker.leave()
      // On other pages those that were decided before do not count either.
      const elsewhere = await visit('/', { key: viewer, isHurried: true })
      const badge = elsewhere.page.getByRole('navigation', { name: 'Console' }).getByText(/^\d+ waiting$/)
      await badge.waitFor()
      assert.equal(await badge.textContent(), '1 waiting')
      await elsewhere.leave()
      await card.getByRole('link', { name: 'payer' }).waitFor()
      const { body } = await service().call('GET', `/v1/approvals?request_id=${request_id}`)
      const path = `/v1/agents/payer/invocations/${request_id}/approvals/${body.data[0].call_id}`
      await service().call('POST', path, { key: secret, body: { decision: 'reject' } })
      await page.getByText('No approvals waiting').waitFor()
      await leave()
    })

    test('the audit log is checked in the browser, and an altered entry is found', async () => {
      await createAgent(service(), 'created-last')
      const { page, leave } = await visit('/system?view=audit')
      await page.getByRole('cell', { name: 'createAgent' }).first().waitFor()
      await page.getByRole('button', { name: 'Verify log' }).click()
      await page.getByText(/the newest \d+ entries are unchanged/).waitFor()
      const db = storeOf(service())
      // Retention records what it deletes. Entries that someone else deletes are missing.
      const oldest = () =>
        db.selectFrom('audit_log').select(['id', 'seq', 'created_at']).orderBy('seq').limit(3).execute()
      const [, , third] = await oldest()
      assert.equal(await removeOldEntries(partsOf(service()), (third?.created_at ?? 0) + 1, 2), 2)
      await page.getByRole('button', { name: 'Verify log' }).click()
      const left = await db.selectFrom('audit_log').select('id').execute()
      const holds = `the newest ${left.length} entries are unchanged`
      // A forged entry could say so, too, and the browser could not tell.
      await page.getByText(`${holds}; moorage audit verify also checks that only retention removed entries`).waitFor()
      const [first] = await oldest()
      const row = await db
        .selectFrom('audit_log')
        .selectAll()
        .where('id', '=', first?.id ?? '')
        .executeTakeFirstOrThrow()
      await db.deleteFrom('audit_log').where('id', '=', row.id).execute()
      await page.getByRole('button', { name: 'Verify log' }).click()
      await page.getByText(`entry ${row.seq} is missing`).waitFor()
      await db.insertInto('audit_log').values(row).execute()
      await db.updateTable('audit_log').set({ actor: 'somebody else' }).where('action', '=', 'createAgent').execute()
      await page.getByRole('button', { name: 'Verify log' }).click()
      await page.getByText(/entry \d+ was changed/).waitFor()
      // An attacker who computes its hash again breaks the chain behind it.
      const { items } = await listAuditLog(db, { limit: 100, offset: 0, sort: 'created_at' }, { shown: EVERY_AGENT })
      const { seq, prev_hash, ...altered } = items.find(({ action }) => action === 'createAgent') ?? assert.fail()
      const hash = hashOf(altered, { seq: seq ?? 0, prev_hash: prev_hash ?? '' })
      await db.updateTable('audit_log').set({ hash }).where('id', '=', altered.id).execute()
      await page.getByRole('button', { name: 'Verify log' }).click()
      await page.getByText(`entry ${seq} has a hash that doesn't match it`).waitFor()
      await leave()
    })

    test('state, configuration without secrets, and sessions that are ended from here', async () => {
      const elsewhere = await visit('/')
      service().advance(-TEN_MINUTES)
      const { page, leave } = await visit('/system')
      await page.getByText('SQLite').first().waitFor()
      await page.getByText(/^measured /).waitFor()
      await page.locator('dd', { hasText: 'healthy' }).waitFor()
      service().advance(TEN_MINUTES)
      await page.getByRole('button', { name: 'Configuration' }).click()
      await page.getByRole('cell', { name: 'outgoing.allowInsecure', exact: true }).waitFor()
      assert.ok(!(await page.content()).includes(service().admin))
      await page.getByRole('button', { name: 'Sessions' }).click()
      const own = page.getByRole('row', { name: 'this one' })
      await own.waitFor()
      const times = await Promise.all((await own.locator('time').all()).map((time) => time.getAttribute('datetime')))
      const [signedIn, used, ends] = times.map((time) => Date.parse(time ?? '')) as [number, number, number]
      assert.ok(signedIn + TEN_MINUTES <= used && used < ends, times.join(', '))
      await page.getByRole('button', { name: 'End' }).first().click()
      await page.getByText(/^Session of .* ended$/).waitFor()
      elsewhere.expect(/401/)
      await elsewhere.page.reload()
      await elsewhere.page.getByLabel(/key/i).first().waitFor()
      await elsewhere.leave()
      await leave()
    })
  },
  { settings: { MOORAGE_OUTGOING__ALLOW_INSECURE: 'true', MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1' } },
)
