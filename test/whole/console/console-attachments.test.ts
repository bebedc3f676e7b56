import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { LOCAL_TOOLS, startLocalServer } from '../../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { untilHolds } from '../../support/running/until.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { upload, uploaded } from '../../support/slices/files.ts'
import { createAgent } from '../../support/slices/resources.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const MOST_BYTES = 400_000

let model: ModelServer

inConsole(
  'files in the console',
  (visit, service) => {
    after(() => model.close())
    const receipts = async () => (await service().call('GET', '/v1/agents/eye/invocations')).body.data
    const attach = (page: Page, ...files: { name: string; mimeType: string; buffer: Buffer }[]) =>
      page.locator('.composer input[type=file]').setInputFiles(files)
    const picture = { name: 'receipt.png', mimeType: 'image/png', buffer: PNG }
    const chip = (page: Page, list: string, name: string) =>
      page.getByRole('list', { name: list, exact: true }).getByRole('listitem').filter({ hasText: name })

    test('files are picked, pasted and dropped, sent with the message, and shown as the model got them', async () => {
      await createAgent(service(), 'eye', { model: 'local/tiny' })
      const { page, leave } = await visit('/agents/eye?user=ann')
      const field = page.getByLabel('Message', { exact: true })
      await attach(page, picture, { ...picture, name: 'back.png' })
      await chip(page, 'Files', 'receipt.png').getByText('image/png · 70 bytes').waitFor()
      await page.evaluate(`{
        const give = (name, type, text) => {
          const data = new DataTransfer()
          data.items.add(new File([text], name, { type }))
          return data
        }
        const bubbles = { bubbles: true, cancelable: true }
        document.querySelector('.composer textarea')
          .dispatchEvent(new ClipboardEvent('paste', { ...bubbles, clipboardData: give('notes.txt', 'text/plain', 'Lunch') }))
        document.querySelector('.talk')
          .dispatchEvent(new DragEvent('drop', { ...bubbles, dataTransfer: give('app.bin', 'application/x-thing', '\\0\\1') }))
      }`)
      for (const name of ['notes.txt', 'app.bin']) {
        await page.getByRole('button', { name: `Remove ${name}` }).waitFor()
      }
      await checkAccess(page)
      await field.fill('What did I pay?')
      await field.press('Enter')
      await chip(page, 'Attachments', 'receipt.png').getByText('sent as an image').waitFor()
      await chip(page, 'Attachments', 'notes.txt').getByText('sent as text').waitFor()
      await chip(page, 'Attachments', 'app.bin').getByText('not sent to the model').waitFor()
      assert.equal(await page.getByRole('list', { name: 'Files' }).count(), 0)
      const [run] = await receipts()
      assert.deepEqual(
        run.attachments.map(({ name, shown_as }: { name: string; shown_as: string }) => [name, shown_as]),
        [
          ['receipt.png', 'image'],
          ['back.png', 'image'],
          ['notes.txt', 'text'],
          ['app.bin', 'omitted'],
        ],
      )
      const { body } = await service().call('GET', '/v1/files?user_id=ann')
      assert.equal(body.pagination.total, 4)

      await page.getByRole('button', { name: 'Send again' }).click()
      await chip(page, 'Attachments', 'receipt.png').getByText('sent as an image').nth(1).waitFor()
      const [again] = await receipts()
      assert.deepEqual(again.attachments, run.attachments)
      await page.getByRole('button', { name: 'Edit in a new session' }).first().click()
      await page.getByRole('button', { name: 'Remove app.bin' }).click()
      await field.press('Enter')
      await untilHolds(async () => assert.equal((await receipts())[0].attachments.length, 3))
      // A file of an earlier message is not deleted by taking it away.
      assert.equal((await service().call('GET', '/v1/files?user_id=ann')).body.pagination.total, 4)
      await leave()
    })

    test('an image opens in full size, by keyboard too, and Escape returns the focus', async () => {
      const [run] = await receipts()
      const { page, leave } = await visit(`/activity/${run.request_id}`)
      const open = page.getByRole('button', { name: 'Open receipt.png' })
      await page.locator('.thumbnail img').first().waitFor()
      await open.focus()
      await page.keyboard.press('Enter')
      const shown = page.getByRole('dialog', { name: 'receipt.png' }).getByRole('img', { name: 'receipt.png' })
      await shown.waitFor()
      assert.match((await shown.getAttribute('src')) ?? '', /^blob:/)
      assert.equal(await shown.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth), 1)
      await checkAccess(page)
      await page.keyboard.press('ArrowRight')
      await page.getByRole('dialog', { name: 'back.png' }).getByRole('img', { name: 'back.png' }).waitFor()
      await page.keyboard.press('ArrowLeft')
      await shown.waitFor()
      await page.keyboard.press('Escape')
      await shown.waitFor({ state: 'detached' })
      assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Open receipt.png')
      assert.equal(await page.getByRole('button', { name: 'Open notes.txt' }).count(), 0)
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download notes.txt' }).click(),
      ])
      assert.equal(saved.suggestedFilename(), 'notes.txt')
      await page.getByRole('button', { name: 'Run again' }).click()
      await page.waitForURL((url) => !url.pathname.endsWith(run.request_id))
      await chip(page, 'Attachments', 'receipt.png').getByText('sent as an image').waitFor()
      await leave()
    })

    test("a file that can't be uploaded shows why, and the message can be sent after it is removed", async () => {
      const { page, expect, leave } = await visit('/agents/eye')
      expect(/status of 4(00|09|13)/)
      const send = page.getByRole('button', { name: 'Send', exact: true })
      await page.getByLabel('Message', { exact: true }).fill('Look')
      await attach(
        page,
        { name: 'huge.bin', mimeType: '', buffer: Buffer.alloc(MOST_BYTES + 1) },
        { name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) },
        { name: 'ok.txt', mimeType: 'text/plain', buffer: Buffer.from('ok') },
      )
      await chip(page, 'Files', 'huge.bin')
        .getByText(`Files can be at most ${MOST_BYTES} bytes (files.maxBytes).`)
        .waitFor()
      await chip(page, 'Files', 'empty.txt').getByRole('alert').waitFor()
      await page.getByRole('button', { name: 'Remove ok.txt' }).waitFor()
      assert.equal(await send.isDisabled(), true)
      await page.getByRole('button', { name: 'Remove huge.bin' }).click()
      await page.getByRole('button', { name: 'Remove empty.txt' }).click()
      assert.equal(await send.isDisabled(), false)
      await page.getByRole('button', { name: 'Remove ok.txt' }).click()
      const limit = (file_bytes: number | null) =>
        service().call('PATCH', '/v1/projects/prj_default', { body: { limits: { file_bytes } } })
      await limit(1)
      await attach(page, { ...picture, name: 'full.png' })
      await chip(page, 'Files', 'full.png').getByText("The project's files would exceed 1 bytes").waitFor()
      await limit(null)
      await page.getByRole('button', { name: 'Try full.png again' }).click()
      await page.getByRole('button', { name: 'Remove full.png' }).waitFor()
      await untilHolds(async () => assert.equal(await send.isDisabled(), false))
      await leave()
    })

    test('an upload shows its progress and can be cancelled; another user uploads a separate file', async () => {
      const { page, expect, context, leave } = await visit('/agents/eye?user=bob')
      expect(/ERR_FAILED|ERR_ABORTED/)
      let isHeld = true
      await context.route('**/v1/files?*', async (route) => {
        if (!isHeld) return route.continue()
      })
      await attach(page, { ...picture, name: 'slow.png' })
      await page.getByRole('progressbar', { name: 'Upload of slow.png' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true)
      await page.getByRole('button', { name: 'Cancel the upload of slow.png' }).click()
      await page.getByRole('progressbar').waitFor({ state: 'detached' })
      isHeld = false
      await attach(page, { ...picture, name: 'mine.png' })
      await page.getByRole('button', { name: 'Remove mine.png' }).waitFor()
      await page.getByLabel('User').fill('cleo')
      await untilHolds(async () => {
        const of = async (user: string) =>
          (await service().call('GET', `/v1/files?user_id=${user}`)).body.pagination.total
        assert.deepEqual([await of('bob'), await of('cleo')], [0, 1])
      })
      await leave()
    })

    test('files from a tool are shown with the answer and in its step', async () => {
      const camera = await startLocalServer((_request, response) =>
        response.writeHead(200, { 'content-type': 'image/png' }).end(PNG),
      )
      const tools = [
        { type: 'http', name: 'snap', description: 'Takes a photo', method: 'GET', url: `${camera.url}/quay` },
      ]
      const script = { rules: [{ call: { tool: 'snap', arguments: {} }, reply: 'There it is.' }] }
      await createAgent(service(), 'watch', { model: 'builtin/script', tools, script })
      const { page, leave } = await visit('/agents/watch')
      await page.getByLabel('Message', { exact: true }).fill('How is the quay?')
      await page.keyboard.press('Enter')
      await chip(page, 'Files from tools', 'snap.png').getByRole('button', { name: 'Open snap.png' }).click()
      await page.getByRole('dialog').getByRole('img', { name: 'snap.png' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('complementary').getByText('snap', { exact: true }).click()
      await chip(page, 'Files', 'snap.png').waitFor()
      await leave()
      await camera.close()
    })

    test('the page of files lists, filters, shows, uploads and deletes them', async () => {
      await uploaded(service(), '<svg onload="alert(1)"/>', { type: 'image/svg+xml', query: '?name=drawing.svg' })
      await upload(service(), PNG, { type: 'image/png', query: '?name=dot.png&user_id=dora&expires_in_seconds=90000' })
      const { page, leave } = await visit('/')
      await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Files' }).click()
      const table = page.getByRole('region', { name: 'Files' })
      const row = (name: string) => table.getByRole('row').filter({ hasText: name })
      assert.match(await row('dot.png').innerText(), /dot\.png\s+image\/png\s+70 bytes\s+dora\s+just now\s+in 1d/)
      await checkAccess(page)
      await page.getByLabel('Type').selectOption('image/png')
      await row('drawing.svg').waitFor({ state: 'detached' })
      await page.getByLabel('User').fill('dora')
      await row('mine.png').waitFor({ state: 'detached' })
      await row('dot.png').getByRole('button', { name: 'dot.png', exact: true }).click()
      await page.getByRole('dialog').getByRole('img', { name: 'dot.png' }).waitFor()
      await checkAccess(page)
      await page.getByRole('button', { name: 'Delete …' }).click()
      await page.getByRole('button', { name: 'Delete file' }).click()
      await page.getByText('dot.png deleted').waitFor()
      await page.getByText('Nothing matches the filters.').waitFor()
      await page.getByRole('button', { name: 'Upload', exact: true }).click()
      const dialog = page.getByRole('dialog', { name: 'Upload files' })
      assert.equal(await dialog.getByLabel('User').inputValue(), 'dora')
      await dialog.locator('input[type=file]').setInputFiles({ ...picture, name: 'new.png' })
      await dialog.getByRole('button', { name: 'Remove new.png' }).waitFor()
      await dialog.getByRole('button', { name: 'Done' }).click()
      await row('new.png').waitFor()
      await page.goto(`${service().url}/files`)
      await row('drawing.svg').getByRole('button', { name: 'drawing.svg', exact: true }).click()
      await page.getByRole('dialog').getByText('image/svg+xml').waitFor()
      assert.equal(await page.getByRole('dialog').getByRole('img').count(), 0)
      await leave()
    })
  },
  {
    settings: async () => {
      model = await startModelServer()
      return { ...localProvider(model.url), ...LOCAL_TOOLS, MOORAGE_FILES__MAX_BYTES: String(MOST_BYTES) }
    },
  },
)

inConsole('large pictures in the console', (visit, service) => {
  test('are loaded when the reader opens them, and not before', async () => {
    const large = Buffer.concat([PNG, Buffer.alloc(5_000_000)])
    const chart = await uploaded(service(), large, { type: 'image/png', query: '?name=chart.png' })
    const dot = await uploaded(service(), PNG, { type: 'image/png', query: '?name=dot.png' })
    const body = { message: 'Which way?', attachments: [{ file_id: chart }, { file_id: dot }] }
    const { status, text, body: reply } = await service().call('POST', '/v1/agents/hello/invoke', { body })
    assert.equal(status, 200, text)
    const { page, asked, settled, leave } = await visit(`/activity/${reply.data.request_id}`)
    const loaded = () => asked().filter((request) => request.endsWith('/content'))
    await page.getByRole('button', { name: 'Open dot.png' }).locator('.thumbnail img').waitFor()
    await settled()
    assert.deepEqual(loaded(), [`GET /v1/files/${dot}/content`])
    await page.getByRole('button', { name: 'Open chart.png' }).click()
    await page.getByRole('dialog').getByRole('img', { name: 'chart.png' }).waitFor()
    assert.deepEqual(loaded(), [`GET /v1/files/${chart}/content`])
    await leave()
  })
})
