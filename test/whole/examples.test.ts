import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from '../../sdk/client.ts'
import { codeBlocks, ROOT, readDoc } from '../support/house/docs.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { built } from '../support/service/built.ts'
import { childEnv } from '../support/service/child.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

const root = fileURLToPath(ROOT)
const EXAMPLES = readdirSync(join(root, 'examples')).filter((name) => !name.includes('.'))

describe('the examples', () => {
  let service: Service
  let model: ModelServer
  let folder: string
  let env: Record<string, string>
  before(async () => {
    model = await startModelServer()
    service = await startService('sqlite', localProvider(model.url))
    folder = mkdtempSync(join(tmpdir(), 'moorage-examples-'))
    writeFileSync(join(folder, 'moorage'), `#!/bin/sh\nexec '${process.execPath}' '${built('cli')}' "$@"\n`, {
      mode: 0o755,
    })
    env = {
      ...childEnv(),
      PATH: [folder, process.env['PATH']].join(delimiter),
      HOME: folder,
      MOORAGE_URL: service.url,
      MOORAGE_API_KEY: service.admin,
    }
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await service.stop()
    await model.close()
  })
  const run = (file: string, args: string[]) => promisify(execFile)(file, args, { env, cwd: folder })

  test('agent-as-code deploys, tries, and changes nothing the second time', async () => {
    const script = join(root, 'examples/agent-as-code/deploy.sh')
    assert.match((await run(script, ['first'])).stderr, /production serves [0-9a-f]{12} of berths/)
    assert.match((await run(script, ['again'])).stderr, /production already serves [0-9a-f]{12} of berths/)
    // An alias of the reader's shell is not known to a script.
    const bare = { ...env, ...childEnv() }
    assert.match(
      (await promisify(execFile)(script, ['third'], { env: bare })).stderr,
      /already serves [0-9a-f]{12} of berths/,
    )
    const client = createClient({ url: service.url, key: service.admin })
    const { data } = await client.deployments.list('berths')
    assert.deepEqual(
      data.map(({ message, status }) => [message, status]),
      [['first', 'active']],
    )
  })

  test('conversation recalls what was said in another session', async () => {
    const example = ['run', '-s', 'example', 'examples/conversation/conversation.ts']
    assert.match(readDoc('examples/conversation/README.md'), /npm run example examples\/conversation\/conversation\.ts/)
    const { stdout } = await promisify(execFile)('npm', example, { env, cwd: root })
    const answer = stdout.slice(stdout.indexOf('[Tuesday] companion:'))
    assert.match(answer, /Nightingale/, stdout)
    await run(process.execPath, [join(root, 'examples/conversation/conversation.ts')])
  })

  test('agent-tools calls another agent, and shows the tree of the run', async () => {
    const file = join(root, 'examples/agent-tools/agent-tools.ts')
    const shown = 'Noted: {"topic":"moorings"}\nharbour-desk → sorter: completed\n'
    assert.equal((await run(process.execPath, [file])).stdout, shown)
    // It may run again.
    assert.equal((await run(process.execPath, [file])).stdout, shown)
  })

  test('structured-answers gets a record, or the reason why there is none', async () => {
    const file = join(root, 'examples/structured-answers/structured-answers.ts')
    const { stdout } = await run(process.execPath, [file])
    assert.equal(
      stdout,
      `Note: Bought rope at Chandler, twelve fifty
Record: rope at Chandler: 12.50
Note: Bought paint
No record: /total must be a number
`,
    )
    // It may run again.
    await run(process.execPath, [file])
  })

  test('receipt-photo makes a record of a photo, which a model that can see is shown', async () => {
    const file = join(root, 'examples/receipt-photo/receipt-photo.ts')
    const record = `2026-11-14 Chandler: 35.60 EUR
  Rope 12 mm, 5 m: 12.50
  Shackle: 4.20
  Paint, white: 18.90
`
    const { stdout } = await run(process.execPath, [file])
    assert.equal(stdout, `${record}receipt.jpg: omitted, builtin/script does not accept images\n`)
    const seen = { shop: 'Chandler', date: '2026-11-14', total: 35.6, currency: 'EUR', items: [] }
    model.reply({ text: [JSON.stringify(seen)] })
    const { stdout: looked } = await promisify(execFile)(process.execPath, [file], {
      env: { ...env, MODEL: 'local/eye' },
      cwd: folder,
    })
    assert.equal(looked, '2026-11-14 Chandler: 35.60 EUR\nreceipt.jpg: image\n')
    const photo = readFileSync(join(root, 'examples/receipt-photo/receipt.jpg')).toString('base64')
    assert.deepEqual(model.requests[0]?.body.messages.at(-1)?.content, [
      { type: 'text', text: 'What did we buy?' },
      { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${photo}` } },
    ])
  })

  test('approvals are requested, and the customer gets what the lead decides', async () => {
    const file = join(root, 'examples/approvals/approvals.ts')
    const { stdout } = await run(process.execPath, [file])
    assert.equal(
      stdout,
      `Customer: I want a refund of 250
The lead is asked: refund {"amount":250}
Clerk: A person rejected this call: Only up to 100
Customer: May I bring my dog?
The lead is asked: ask_person {"question":"May I bring my dog?"}
Clerk: The lead says: If it can swim
`,
    )
    // It may run again.
    await run(process.execPath, [file])
  })

  test('schedules are made, and changed when the script runs again', async () => {
    const script = join(root, 'examples/schedules/schedules.sh')
    const client = createClient({ url: service.url, key: service.admin })
    const listed = async () => (await client.schedules.list('hello', { sort: 'name' })).data
    await run(script, ['hello'])
    const first = await listed()
    assert.deepEqual(
      first.map(({ name, cron, every, catch_up, context }) => [name, cron ?? every, catch_up, context]),
      [
        ['report', '0 9 * * MON-FRI', 'one', {}],
        ['watch', '15m', 'none', { session_id: 'watch' }],
      ],
    )
    await run(script, ['hello'])
    assert.deepEqual(
      (await listed()).map(({ id }) => id),
      first.map(({ id }) => id),
    )
  })

  test('every program that a README or a document names starts with the bundled Node', () => {
    const documents = [
      'README.md',
      'examples/README.md',
      'docs/quick-start.md',
      ...EXAMPLES.map((name) => `examples/${name}/README.md`),
    ]
    const text = documents.map(readDoc).join('\n')
    assert.doesNotMatch(text, /^\s*(\w+=\S+ )*node \S+\.ts/m)
    for (const [, file = ''] of text.matchAll(/npm run example (examples\/\S+\.ts)/g)) {
      assert.ok(existsSync(join(root, file)), file)
    }
  })

  test('the programs in the documents run', async () => {
    await run('moorage', ['agents', 'create', 'harbour'])
    writeFileSync(join(folder, 'receipt.txt'), 'Lunch, 12.50')
    symlinkSync(join(root, 'sdk'), join(folder, 'sdk'))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    for (const doc of ['docs/sdk.md', 'docs/quick-start.md', 'docs/mcp.md', 'docs/a2a.md', 'docs/ag-ui.md']) {
      const programs = codeBlocks(readDoc(doc)).filter(({ language }) => language === 'ts')
      assert.ok(programs.length > 0)
      for (const { code, line } of programs) {
        const file = join(folder, 'program.ts')
        const here = code.replaceAll('http://127.0.0.1:8787', service.url)
        writeFileSync(file, here)
        await run(process.execPath, [file]).catch((error: unknown) => {
          throw new Error(`${doc}:${line}`, { cause: error })
        })
      }
    }
  })
})
