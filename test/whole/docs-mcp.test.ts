import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connectMcp, REVISIONS } from '../support/clients/mcp-client.ts'
import { codeBlocks, readDoc } from '../support/house/docs.ts'
import { type Service, startService } from '../support/service/service.ts'

type Server = { command?: string; args?: string[]; env?: Record<string, string>; url?: string; headers?: object }

/** Where a client goes and with which header, as its set-up says. */
type Target = { url: string; authorization: string }

const HEADER = /^Authorization:\s*(.*)$/

/** A program such as mcp-remote is told both by its arguments, where it puts in what is in its environment. */
function targetOf({ url, headers, args = [], env = {} }: Server): Target {
  if (url !== undefined) return { url, authorization: (headers as { Authorization: string }).Authorization }
  const filled = args.map((arg) => arg.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => env[name] ?? assert.fail(name)))
  const header = filled[filled.indexOf('--header') + 1] ?? ''
  return { url: filled.find((arg) => arg.startsWith('http')) ?? '', authorization: HEADER.exec(header)?.[1] ?? '' }
}

describe('the set-ups of docs/mcp.md', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  /** The programs themselves are not here. The official client goes where they would go. */
  const reach = async (t: TestContext, { url, authorization }: Target) => {
    assert.equal(authorization, 'Bearer mrg_…')
    assert.ok(url.startsWith('http://127.0.0.1:8787/'), url)
    const path = url.slice('http://127.0.0.1:8787'.length)
    for (const revision of REVISIONS) {
      const client = await connectMcp(t, service, revision, { path })
      const { tools } = await client.listTools()
      assert.ok(tools.some(({ name }) => name === 'hello'))
    }
  }
  const blocks = codeBlocks(readDoc('docs/mcp.md'))
  const configured = blocks.filter(({ language }) => language === 'json')
  assert.equal(configured.length, 2)
  for (const { code } of configured) {
    const { mcpServers } = JSON.parse(code) as { mcpServers: { moorage: Server } }
    test(`${mcpServers.moorage.command ?? 'a file'} leads to the tools`, (t) => reach(t, targetOf(mcpServers.moorage)))
  }

  test('the command of Claude Code leads to the tools', async (t) => {
    const line = blocks.find(({ code }) => code.startsWith('claude mcp add'))
    const [, url = ''] = /(http:\S+)/.exec(line?.code ?? '') ?? []
    const [, header = ''] = /--header "(.*)"/.exec(line?.code ?? '') ?? []
    await reach(t, { url, authorization: HEADER.exec(header)?.[1] ?? '' })
  })
})
