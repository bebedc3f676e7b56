import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type AuthorizationServer, startAuthorizationServer } from '../support/outside/authorization-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { startModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { startWaiting, untilStatus } from '../support/slices/approvals.ts'
import { Browser, CONNECTED, connect, PUBLIC_URL, whoamiAgent } from '../support/slices/connections.ts'

onAnyEngine(
  'MCP servers that ask for OAuth',
  (service) => {
    let server: AuthorizationServer
    let notes: McpServer
    /** The scope that a call of `write` needs. */
    let needed = 'notes.write'
    /** The scope that a list of the tools needs. */
    let listing = 'notes.read'
    before(async () => {
      server = await startAuthorizationServer()
      notes = await startMcpServer(
        [
          { name: 'whoami', call: (_args, headers) => `notes of ${server.userOf(headers.authorization)}` },
          { name: 'write', call: (_args, headers) => `written by ${server.userOf(headers.authorization)}` },
        ],
        {
          challenge({ authorization }, tool, method) {
            if (server.userOf(authorization) === undefined)
              return `Bearer resource_metadata="${server.url}/notes", scope="notes.read"`
            const asked = tool === 'write' ? needed : method === 'tools/list' ? listing : 'notes.read'
            if (server.scopesOf(authorization).includes(asked)) return undefined
            return `Bearer error="insufficient_scope", scope="notes.read ${asked}", resource_metadata="${server.url}/notes"`
          },
        },
      )
      server.resources.set('/notes', { resource: notes.url, authorization_servers: [server.url] })
    })
    after(() => Promise.all([server.close(), notes.close()]))

    const put = (name: string, body: object) => service().call('PUT', `/v1/connections/${name}`, { body })
    const mcpAgent = (name: string) =>
      newAgent(service(), {
        model: 'builtin/script',
        tools: [{ type: 'mcp', url: notes.url, connection: name }],
        script: {
          rules: [
            { match: { equals: 'connect' }, call: { tool: `connect_${name}`, arguments: {} }, reply: '{{result}}' },
            { match: { equals: 'write' }, call: { tool: 'write', arguments: {} }, reply: '{{result}}' },
            { call: { tool: 'whoami', arguments: {} }, reply: '{{result}}' },
          ],
        },
      })
    const ask = (agent: string, user_id?: string) => startRun(agent, 'Whose?', user_id)
    const startRun = async (agent: string, message: string, user_id?: string) => {
      const body = { message, context: { user_id } }
      const reply = await service().call('POST', `/v1/agents/${agent}/invoke`, { body })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data.response as string
    }

    test('need nothing but their URL: the service registers, the model asks for the sign-in, and has the tools afterwards', async () => {
      const made = await put('notes', { kind: 'mcp', url: notes.url })
      assert.deepEqual(made.body.data.hosts, ['127.0.0.1'], made.text)
      const tested = (await service().call('POST', '/v1/connections/notes/test')).body.data
      assert.deepEqual(
        [tested.ok, tested.error, tested.issuer, tested.client, tested.scopes, tested.warnings],
        [true, null, server.url, 'registered', ['notes.read'], []],
      )
      assert.ok(server.clients.has(tested.client_id))
      const agent = await mcpAgent('notes')
      const { path, approval } = await startWaiting(service(), agent, 'connect', { user_id: 'ann' })
      const { connection } = (await service().call('GET', approval)).body.data
      server.next = 'ann'
      const browser = new Browser(service)
      const page = await browser.signIn(connection.url)
      assert.equal(page.status, 200, page.at.join('\n'))
      const asked = new URL(page.at[1] ?? '').searchParams
      assert.deepEqual(
        [asked.get('resource'), asked.get('scope'), asked.get('code_challenge_method')],
        [notes.url, 'notes.read', 'S256'],
      )
      const { redirect_uris } = server.clients.get(asked.get('client_id') ?? '') ?? {}
      assert.deepEqual(redirect_uris, [made.body.data.redirect_uri])
      await service().call('POST', `/v1/connections/notes/links/${connection.link_id}/confirm`, {
        body: { user_id: 'ann' },
      })
      assert.match((await untilStatus(service(), path, 'completed')).response, /signed in to notes\. Use its tools now/)
      assert.equal(await ask(agent, 'ann'), 'notes of ann')
      server.next = 'bob'
      await connect(service, 'notes', 'bob')
      assert.equal(server.asked.filter((one) => one === 'POST /register').length, 1)
      const said = await Promise.all(['ann', 'bob', 'ann', 'bob'].map((user) => ask(agent, user)))
      assert.deepEqual(said, ['notes of ann', 'notes of bob', 'notes of ann', 'notes of bob'])
      server.expireAll()
      assert.equal(await ask(agent, 'ann'), 'notes of ann', 'after a 401, with a new token')
      assert.match(await ask(agent, undefined), /no tool whoami/i)
    })

    test('a provider that reads the document of its client needs no registration', async () => {
      server.twist = (metadata) => ({ ...metadata, client_id_metadata_document_supported: true })
      const { id, redirect_uri } = (await put('cards', { kind: 'mcp', url: notes.url })).body.data
      const document = await service().call('GET', `/connect/client/${id}`, { key: null })
      const { client_id, redirect_uris } = document.body
      assert.deepEqual([client_id, redirect_uris], [`${PUBLIC_URL}/connect/client/${id}`, [redirect_uri]])
      server.next = 'eve'
      await connect(service, 'cards', 'eve')
      assert.equal(await ask(await mcpAgent('cards'), 'eve'), 'notes of eve')
      server.twist = (metadata) => metadata
    })

    test('that move to another provider: the service registers there once, and users can sign in', async (t) => {
      const other = await startAuthorizationServer()
      t.after(() => other.close())
      const at = '/.well-known/oauth-protected-resource/moved'
      const resource = `${server.url}/moved`
      const moved = { kind: 'mcp', url: resource }
      server.resources.set(at, { resource, authorization_servers: [server.url] })
      await put('moved', moved)
      server.next = 'kim'
      await connect(service, 'moved', 'kim')
      server.resources.set(at, { resource, authorization_servers: [other.url] })
      await put('moved', moved)
      other.next = 'lea'
      await connect(service, 'moved', 'lea')
      const tested = await service().call('POST', '/v1/connections/moved/test')
      assert.equal(tested.body.data.issuer, other.url, tested.text)
      assert.ok(other.clients.has(tested.body.data.client_id))
      assert.equal(other.asked.filter((one) => one === 'POST /register').length, 1)
    })

    test('ask for more scopes: only the run that needs them waits, and goes on with the wider grant', async () => {
      await put('wide', { kind: 'mcp', url: notes.url })
      const agent = await mcpAgent('wide')
      server.next = 'gus'
      const first = await connect(service, 'wide', 'gus')
      const { path, approval } = await startWaiting(service(), agent, 'write', { user_id: 'gus' })
      const { kind, tool, connection } = (await service().call('GET', approval)).body.data
      assert.deepEqual([kind, tool, connection.name], ['connection', 'write', 'wide'])
      assert.equal(await ask(agent, 'gus'), 'notes of gus', 'what needs no more goes on')
      const listed = async () => (await service().call('GET', '/v1/connections/wide/grants?user_id=gus')).body.data
      assert.deepEqual(
        (await listed()).map(({ id }: { id: string }) => id),
        [first.id],
      )
      const page = await new Browser(service).signIn(connection.url)
      assert.equal(new URL(page.at[1] ?? '').searchParams.get('scope'), 'notes.read notes.write')
      const confirm = `/v1/connections/wide/links/${connection.link_id}/confirm`
      const confirmed = await service().call('POST', confirm, { body: { user_id: 'gus' } })
      assert.deepEqual(confirmed.body.data.scopes, ['notes.read', 'notes.write'])
      const done = await untilStatus(service(), path, 'completed')
      assert.equal(done.response, 'written by gus')
      assert.equal(done.steps.filter((step: { kind: string }) => step.kind === 'tool').length, 1)

      // A server that asks for what the user was asked for already doesn't make the run wait for ever.
      const { scopesOf } = server
      server.scopesOf = () => []
      const refused = await startRun(agent, 'write', 'gus')
      assert.match(refused, /The user has not allowed notes\.read notes\.write in wide/)
      server.scopesOf = scopesOf
      needed = 'x'.repeat(300)
      assert.match(await startRun(agent, 'write', 'gus'), /the server doesn't say what it needs/)
      await put('wide', { kind: 'mcp', url: notes.url, scopes: ['notes.read'] })
      await connect(service, 'wide', 'gus')
      needed = 'notes.write'
      assert.match(await startRun(agent, 'write', 'gus'), /not among those of the connection wide/)
    })

    test('ask for more before they say which tools they have: the model asks for the sign-in, and has the tools then', async (t) => {
      await put('shy', { kind: 'mcp', url: notes.url })
      const agent = await mcpAgent('shy')
      const model = await startModelServer()
      t.after(() => model.close())
      const provider = { type: 'openai', base_url: model.url, api_key: 'sk-x' }
      assert.ok((await service().call('PUT', '/v1/providers/seen', { body: provider })).status < 300)
      const tools = [{ type: 'mcp', url: notes.url, connection: 'shy' }]
      const seen = await newAgent(service(), { model: 'seen/test-model', tools })
      const offered = async () => {
        await startRun(seen, 'Hi', 'joe')
        return model.requests.at(-1)?.body.tools?.map((tool) => tool.function.name)
      }
      server.next = 'joe'
      await connect(service, 'shy', 'joe')
      listing = 'notes.list'
      assert.deepEqual(await offered(), ['connect_shy'])
      const { path, approval } = await startWaiting(service(), agent, 'connect', { user_id: 'joe' })
      const { connection } = (await service().call('GET', approval)).body.data
      const page = await new Browser(service).signIn(connection.url)
      assert.equal(new URL(page.at[1] ?? '').searchParams.get('scope'), 'notes.read notes.list')
      const confirm = `/v1/connections/shy/links/${connection.link_id}/confirm`
      await service().call('POST', confirm, { body: { user_id: 'joe' } })
      assert.match((await untilStatus(service(), path, 'completed')).response, /signed in to shy\. Use its tools now/)
      assert.equal(await ask(agent, 'joe'), 'notes of joe')
      assert.deepEqual(await offered(), ['whoami', 'write'])
      listing = 'notes.read'
    })

    test('ask for more while the user is at the provider: what the user was not asked for is asked next time', async () => {
      await put('late', { kind: 'mcp', url: notes.url })
      const agent = await mcpAgent('late')
      const links = '/v1/connections/late/links'
      const body = { user_id: 'hal' }
      const newLink = async () => (await service().call('POST', links, { body })).body.data
      const open = async ({ link_id, url }: { link_id: string; url: string }) => {
        const browser = new Browser(service)
        return { browser, link_id, at: new URL((await browser.open(url)).headers.get('location') ?? '') }
      }
      const finish = async ({ browser, link_id, at }: Awaited<ReturnType<typeof open>>) => {
        assert.equal((await browser.signIn(at.href)).status, 200)
        return (await service().call('POST', `${links}/${link_id}/confirm`, { body })).body.data.scopes
      }
      const scopeOf = (at: URL) => at.searchParams.get('scope')
      server.next = 'hal'
      await connect(service, 'late', 'hal')
      server.isSilent = true
      const first = await open(await newLink())
      const { path, approval } = await startWaiting(service(), agent, 'write', body)
      const asked = (await service().call('GET', approval)).body.data
      assert.deepEqual([scopeOf(first.at), await finish(first)], ['notes.read', ['notes.read']])
      assert.equal(scopeOf((await open(await newLink())).at), 'notes.read notes.write')
      const again = await until('the run to wait again', async () => {
        const { data } = (await service().call('GET', approval)).body
        return data.status === 'pending' && data.created_at !== asked.created_at && data
      })
      const second = await open(again.connection)
      assert.equal(scopeOf(second.at), 'notes.read notes.write')
      assert.deepEqual(await finish(second), ['notes.read', 'notes.write'])
      assert.equal((await untilStatus(service(), path, 'completed')).response, 'written by hal')
      server.isSilent = false
    })

    test('keep their grants while they are too busy to say who signs users in', async (t) => {
      // An MCP server at an address that has an authorization server as well, which is not the one that it names.
      const other = await startAuthorizationServer()
      t.after(() => other.close())
      const at = '/.well-known/oauth-protected-resource/mcp'
      const url = `${other.url}/mcp`
      other.resources.set(at, { resource: url, authorization_servers: [server.url] })
      await put('busy', { kind: 'mcp', url, hosts: [server.host] })
      server.next = 'ida'
      await connect(service, 'busy', 'ida')
      const agent = await newAgent(service(), whoamiAgent(server, 'busy'))
      assert.match(await ask(agent, 'ida'), /you are ida/)
      for (const [path, status] of [
        [at, 503],
        [at, 429],
        ['/mcp', 503],
      ] as const) {
        other.resources.delete(at)
        other.resources.set(path, status)
        const tested = (await service().call('POST', '/v1/connections/busy/test')).body.data
        assert.equal(tested.ok, false, `${path} ${status} ${JSON.stringify(tested)} ${other.asked}`)
        assert.match(tested.error, new RegExp(`HTTP ${status}`))
        server.expireAll()
        assert.match(await ask(agent, 'ida'), /could not be renewed/)
        other.resources.delete(path)
        other.resources.set(at, { resource: url, authorization_servers: [server.url] })
        assert.match(await ask(agent, 'ida'), /you are ida/)
      }
    })

    describe('that mean harm', () => {
      const begin = async (name: string) => {
        const { body } = await service().call('POST', `/v1/connections/${name}/links`, { body: { user_id: 'ann' } })
        return new Browser(service).open(body.data.url)
      }
      for (const [what, metadata] of [
        ['lead inside', { authorization_servers: ['http://169.254.169.254'] }],
        ['speak for another resource', { resource: 'https://bank.example/mcp' }],
      ] as const) {
        test(`are refused when they ${what}`, async () => {
          const name = what.replaceAll(' ', '_')
          server.resources.set('/notes', { resource: notes.url, authorization_servers: [server.url], ...metadata })
          await put(name, { kind: 'mcp', url: notes.url })
          assert.ok([409, 503].includes((await begin(name)).status))
          server.resources.set('/notes', { resource: notes.url, authorization_servers: [server.url] })
        })
      }
      for (const [what, twist] of [
        ['name another issuer', { issuer: 'https://other.example' }],
        ['have no PKCE', { code_challenge_methods_supported: ['plain'] }],
        ['send people to a script', { authorization_endpoint: 'javascript:alert(1)' }],
        ['take codes inside', { token_endpoint: 'http://10.0.0.1/token' }],
      ] as const) {
        test(`are refused when their providers ${what}`, async () => {
          const name = what.replaceAll(' ', '_')
          server.twist = (metadata) => ({ ...metadata, ...twist })
          await put(name, { kind: 'mcp', url: notes.url })
          const asked = server.asked.filter((one) => one.startsWith('POST /token')).length
          const first = await begin(name)
          server.twist = (metadata) => metadata
          if ('token_endpoint' in twist) {
            const made = await service().call('POST', `/v1/connections/${name}/links`, { body: { user_id: 'ann' } })
            const page = await new Browser(service).signIn(made.body.data.url)
            assert.ok([409, 503].includes(page.status), 'the code goes nowhere')
          } else assert.ok([409, 503].includes(first.status), String(first.status))
          assert.equal(server.asked.filter((one) => one.startsWith('POST /token')).length, asked)
        })
      }
    })
  },
  CONNECTED,
)
