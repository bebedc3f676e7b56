import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { allEvents } from '../support/clients/sse.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { inProject, onAnyEngine } from '../support/service/service.ts'
import { callerOf, childrenOf, named } from '../support/slices/agent-tools.ts'
import { approver, decide, refundingAgent, startTill, type Till, untilStatus } from '../support/slices/approvals.ts'

type Data = Record<string, unknown>

const SLOW = { model: 'builtin/script', script: { rules: [{ reply: 'late', delay_ms: 60_000 }] } }

onAnyEngine(
  'agents that are tools of other agents',
  (service) => {
    const invoke = (agent: string, body: object, headers: Record<string, string> = {}) =>
      service().call('POST', `/v1/agents/${agent}/invoke`, { body, headers })
    const answer = async (agent: string, message: string, context = {}) => {
      const { status, body, text } = await invoke(agent, { message, context })
      assert.equal(status, 200, text)
      return body.data
    }
    const start = async (agent: string, message = 'Ahoy') => {
      const { body } = await invoke(agent, { message }, { Prefer: 'respond-async' })
      const { request_id } = body.data
      return { request_id, path: `/v1/agents/${agent}/invocations/${request_id}` }
    }
    const begunBy = (request_id: string, status: string) =>
      until(`a child that is ${status}`, async () =>
        (await childrenOf(service(), request_id)).find((child: { status: string }) => child.status === status),
      )
    let till: Till
    before(async () => {
      till = await startTill()
    })
    after(() => till.close())

    describe('a call of another agent', () => {
      test("the tool's result is the called agent's answer, and the receipt links the two runs", async () => {
        const clerk = await named(service(), 'clerk')
        const parent = await newAgent(service(), callerOf('clerk'))
        const context = { user_id: 'ann', session_id: 's1', order: 7 }
        const { request_id, response } = await answer(parent, 'Ahoy', context)
        assert.equal(response, 'Said: Ahoy')

        const { body: receipt } = await service().call('GET', `/v1/agents/${parent}/invocations/${request_id}`)
        const { status, background, attempts, parent_request_id, steps, created_by } = receipt.data
        const causes = attempts.map((attempt: { after: string }) => attempt.after)
        assert.deepEqual(
          { status, background, causes, parent_request_id },
          { status: 'completed', background: false, causes: ['start', 'wait'], parent_request_id: null },
        )
        const [run] = await childrenOf(service(), request_id)
        const called = steps.find(({ kind }: { kind: string }) => kind === 'tool')
        assert.deepEqual(called.child, { request_id: run.request_id, agent_id: clerk, agent: 'clerk' })
        assert.equal(called.result, 'Ahoy')
        assert.equal(run.status, 'completed')
        assert.deepEqual(
          [run.parent_request_id, run.agent_id, run.context, run.created_by],
          [request_id, clerk, context, created_by],
        )
      })

      test("the tool's result is the structured output, if the called agent has one", async () => {
        const schema = { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] }
        const script = { rules: [{ output: { kind: 'complaint' } }] }
        await named(service(), 'sorter', { model: 'builtin/script', script, output: { schema } })
        const parent = await newAgent(service(), callerOf('sorter'))
        assert.equal((await answer(parent, 'My tea is cold')).response, 'Said: {"kind":"complaint"}')
      })

      test('the model gets an error if the called agent fails, is paused or was deleted', async () => {
        const script = { rules: [{ fail: 'out of ink' }] }
        const clerk = await named(service(), 'failing', { model: 'builtin/script', script })
        const parent = await newAgent(service(), callerOf('failing'))
        assert.match((await answer(parent, 'one')).response, /Agent failing failed: out of ink/)
        await service().call('PATCH', `/v1/agents/${clerk}`, { body: { status: 'paused' } })
        assert.match((await answer(parent, 'two')).response, /Agent "failing" is paused/)
        await service().call('DELETE', `/v1/agents/${clerk}`)
        assert.match((await answer(parent, 'three')).response, /There is no agent "failing" in this project/)
      })

      test('the called agent answers with the version of the environment that the tool names', async () => {
        const clerk = await named(service(), 'two-faced', { model: 'builtin/script', script: { fallback: 'old' } })
        await service().call('POST', `/v1/agents/${clerk}/deployments`, {
          body: { environment: 'staging', version: 'v1' },
        })
        await service().call('PATCH', `/v1/agents/${clerk}`, { body: { script: { fallback: 'new' } } })
        const old = await newAgent(service(), callerOf('two-faced', { environment: 'staging' }))
        assert.equal((await answer(old, 'Who?')).response, 'Said: old')
        assert.equal((await answer(await newAgent(service(), callerOf(clerk)), 'Who?')).response, 'Said: new')
      })

      test('agents can call each other four levels deep; the fifth level is refused', async () => {
        await named(service(), 'deep-5')
        for (const n of [4, 3, 2, 1]) await named(service(), `deep-${n}`, callerOf(`deep-${n + 1}`))
        const root = await newAgent(service(), callerOf('deep-1'))
        assert.equal((await answer(await agentId('deep-1'), 'down')).response, 'Said: '.repeat(4) + 'down')
        assert.match(
          (await answer(root, 'down')).response,
          /^(Said: ){5}.*Agent deep-5 was not called, because agents can call each other at most 4 levels deep/,
        )
      })
      const agentId = async (name: string) => (await service().call('GET', `/v1/agents/${name}`)).body.data.id
    })

    describe('a tool that calls an agent', () => {
      const refused = async (method: string, path: string, body: object) => {
        const reply = await service().call(method, path, { body })
        assert.equal(reply.status, 400, reply.text)
        return reply.body.error.details
      }
      test('400 for a circle when an agent is created, changed and deployed, with the way around', async () => {
        const own = await refused('POST', '/v1/agents', { name: 'ouroboros', ...callerOf('ouroboros') })
        assert.deepEqual(own, [{ field: 'tools.0.agent', error: 'creates a loop: ouroboros → ouroboros' }])
        const ring = await named(service(), 'ring-a')
        await named(service(), 'ring-b', callerOf('ring-a', { environment: 'staging' }))
        await named(service(), 'ring-c', callerOf('ring-b'))
        const around = [{ field: 'tools.0.agent', error: 'creates a loop: ring-a → ring-c → ring-b → ring-a' }]
        const { tools } = callerOf('ring-c')
        assert.deepEqual(await refused('PATCH', `/v1/agents/${ring}`, { tools }), around)

        // The version was created before the other agents led back to it.
        await named(service(), 'ring-d')
        await service().call('PATCH', `/v1/agents/${ring}`, { body: { tools: callerOf('ring-d').tools } })
        const deploy = { environment: 'production', version: 'v1' }
        const made = await service().call('POST', `/v1/agents/${ring}/deployments`, { body: deploy })
        assert.equal(made.status, 201, made.text)
        await service().call('PATCH', `/v1/agents/${ring}`, { body: { tools: [] } })
        const change = { body: { tools: callerOf('ring-b').tools } }
        assert.equal((await service().call('PATCH', '/v1/agents/ring-d', change)).status, 200)
        assert.deepEqual(
          await refused('POST', `/v1/agents/${ring}/deployments`, { environment: 'staging', version: 'v1' }),
          [{ field: 'tools.0.agent', error: 'creates a loop: ring-a → ring-d → ring-b → ring-a' }],
        )
      })

      test('400 for a rollback to a version that has become a part of a circle', async () => {
        await named(service(), 'back-b')
        const back = await named(service(), 'back-a', callerOf('back-b'))
        const deploy = async (version: string) => {
          const body = { environment: 'production', version }
          const made = await service().call('POST', `/v1/agents/${back}/deployments`, { body })
          assert.equal(made.status, 201, made.text)
          return made.body.data.id
        }
        await deploy('v1')
        await service().call('PATCH', `/v1/agents/${back}`, { body: { tools: [] } })
        const second = await deploy('v2')
        const change = { body: { tools: callerOf('back-a').tools } }
        assert.equal((await service().call('PATCH', '/v1/agents/back-b', change)).status, 200)
        for (const dry_run of [true, false]) {
          const problems = await refused('POST', `/v1/agents/${back}/deployments/${second}/rollback`, { dry_run })
          assert.deepEqual(problems, [{ field: 'tools.0.agent', error: 'creates a loop: back-a → back-b → back-a' }])
        }
      })

      test('400 for a chain more than eight deep, and for more than 500 calls in all', async () => {
        await named(service(), 'chain-8')
        for (const n of [7, 6, 5, 4, 3, 2, 1, 0]) await named(service(), `chain-${n}`, callerOf(`chain-${n + 1}`))
        const way = ['longer', ...Array.from({ length: 8 }, (_, n) => `chain-${n}`), '…'].join(' → ')
        assert.deepEqual(await refused('POST', '/v1/agents', { name: 'longer', ...callerOf('chain-0') }), [
          { field: 'tools.0.agent', error: `leads to a chain of more than 8 agents: ${way}` },
        ])

        const tool = (agent: string, environment: string, n: number) =>
          ({ type: 'agent', name: `ask-${n}`, agent, environment }) as const
        for (let i = 0; i < 16; i++) {
          const tools = Array.from({ length: 32 }, (_, n) => tool('chain-8', `e${i}-${n}`, n))
          await named(service(), `wide-${i}`, { tools })
        }
        const tools = Array.from({ length: 16 }, (_, n) => tool(`wide-${n}`, 'production', n))
        const [problem] = await refused('POST', '/v1/agents', { name: 'widest', tools })
        assert.equal(problem.error, 'can lead to more than 500 agent calls')
        await named(service(), 'less-wide', { tools: tools.slice(1) })
      })

      test('400 for an agent of another project, as for one that does not exist', async () => {
        const elsewhere = (await service().call('POST', '/v1/projects', { body: { name: 'elsewhere' } })).body.data.id
        const stranger = await newAgent(inProject(service(), elsewhere), { name: 'stranger' })
        for (const ref of ['stranger', stranger, 'nowhere']) {
          assert.deepEqual(await refused('POST', '/v1/agents', { name: 'curious', ...callerOf(ref) }), [
            { field: 'tools.0.agent', error: `no agent "${ref}" exists in this project` },
          ])
        }
      })

      test('400 for a key of one agent, which knows no other', async () => {
        const agent = await newAgent(service())
        await named(service(), 'neighbour')
        const key = { name: 'one', permissions: ['read', 'write', 'invoke'], agent_id: agent }
        const { secret } = (await service().call('POST', '/v1/keys', { body: key })).body.data
        const reply = await service().call('PATCH', `/v1/agents/${agent}`, {
          key: secret,
          body: { tools: callerOf('neighbour').tools },
        })
        assert.equal(reply.status, 400, reply.text)
        assert.match(reply.text, /no agent .*neighbour.* exists in this project/)
      })
    })

    describe('shared limits of runs', () => {
      test('cancelling a run cancels the runs that it called, at all levels', async () => {
        await named(service(), 'slow-1', SLOW)
        await named(service(), 'slow-2', callerOf('slow-1'))
        const parent = await newAgent(service(), callerOf('slow-2'))
        const { request_id, path } = await start(parent)
        const middle = await begunBy(request_id, 'waiting')
        const last = await begunBy(middle.request_id, 'running')
        const reply = await service().call('POST', `${path}/cancel`)
        assert.equal(reply.body.data.status, 'cancelled', reply.text)
        for (const run of [middle, last]) {
          await untilStatus(service(), `/v1/agents/${run.agent_id}/invocations/${run.request_id}`, 'cancelled')
        }
      })

      test('deleting an agent cancels the runs that its runs have called, at all levels', async () => {
        await named(service(), 'gone-1', SLOW)
        await named(service(), 'gone-2', callerOf('gone-1'))
        const parent = await newAgent(service(), callerOf('gone-2'))
        const { request_id } = await start(parent)
        const middle = await begunBy(request_id, 'waiting')
        const last = await begunBy(middle.request_id, 'running')
        assert.equal((await service().call('DELETE', `/v1/agents/${parent}`)).status, 200)
        for (const run of [middle, last]) {
          await untilStatus(service(), `/v1/agents/${run.agent_id}/invocations/${run.request_id}`, 'cancelled')
        }
      })

      test('cancelling only the called run makes the call fail with that reason', async () => {
        await named(service(), 'slow-3', SLOW)
        const parent = await newAgent(service(), callerOf('slow-3'))
        const { request_id, path } = await start(parent)
        const run = await begunBy(request_id, 'running')
        await service().call('POST', `/v1/agents/${run.agent_id}/invocations/${run.request_id}/cancel`)
        const receipt = await untilStatus(service(), path, 'completed')
        assert.equal(receipt.response, 'Said: The run of agent slow-3 was cancelled.')
      })

      test('all runs are cancelled when the client disconnects', async () => {
        await named(service(), 'slow-4', SLOW)
        const parent = await newAgent(service(), callerOf('slow-4'))
        const gone = new AbortController()
        const headers = { Authorization: `Bearer ${service().admin}`, 'Content-Type': 'application/json' }
        const body = JSON.stringify({ message: 'Ahoy' })
        const asked = { method: 'POST', headers, body, signal: gone.signal }
        fetch(`${service().url}/v1/agents/${parent}/invoke`, asked).catch(() => {})
        const list = `/v1/agents/${parent}/invocations`
        const first = await until('the run', async () => (await service().call('GET', list)).body.data[0])
        const run = await begunBy(first.request_id, 'running')
        gone.abort()
        await untilStatus(service(), `${list}/${first.request_id}`, 'cancelled')
        await untilStatus(service(), `/v1/agents/${run.agent_id}/invocations/${run.request_id}`, 'cancelled')
      })

      test("504 when the run's time is over, and the run that it called ends, too", async () => {
        await named(service(), 'slow-5', SLOW)
        const parent = await newAgent(service(), callerOf('slow-5', {}, { limits: { timeout_ms: 30_000 } }))
        const asked = invoke(parent, { message: 'Ahoy' })
        const list = `/v1/agents/${parent}/invocations`
        const first = await until('the run', async () => (await service().call('GET', list)).body.data[0])
        const run = await begunBy(first.request_id, 'running')
        // The called agent would answer after 60 s.
        service().advance(30_000)
        const reply = await asked
        assert.equal(reply.status, 504, reply.text)
        assert.equal(reply.body.error.code, 'timeout')
        await untilStatus(service(), `/v1/agents/${run.agent_id}/invocations/${run.request_id}`, 'cancelled')
      })

      test('slots: a run that waits for another one occupies none, so one slot is enough for all levels', async () => {
        const project = (await service().call('POST', '/v1/projects', { body: { name: 'narrow' } })).body.data.id
        await service().call('PATCH', `/v1/projects/${project}`, { body: { limits: { concurrent_runs: 1 } } })
        const narrow = inProject(service(), project)
        const limits = { max_concurrency: 1 }
        await newAgent(narrow, { name: 'inner', limits })
        await newAgent(narrow, { name: 'middle', ...callerOf('inner', {}, { limits }) })
        const outer = await newAgent(narrow, { name: 'outer', ...callerOf('middle', {}, { limits }) })
        const reply = await narrow.call('POST', `/v1/agents/${outer}/invoke`, { body: { message: 'Ahoy' } })
        assert.equal(reply.status, 200, reply.text)
        assert.equal(reply.body.data.response, 'Said: Said: Ahoy')
      })

      test("budgets: the called agent's budget applies, and its tokens are counted for that agent", async () => {
        const clerk = await named(service(), 'thrifty')
        const parent = await newAgent(service(), callerOf('thrifty'))
        const first = await answer(parent, 'one two three')
        const [run] = await childrenOf(service(), first.request_id)
        assert.ok(run.tokens_used > 0)
        const receipt = await service().call('GET', `/v1/agents/${parent}/invocations/${first.request_id}`)
        const own = receipt.body.data.steps.filter(({ kind }: { kind: string }) => kind === 'model')
        const sum = own.reduce(
          (all: number, step: { usage: { total_tokens: number } }) => all + step.usage.total_tokens,
          0,
        )
        assert.equal(first.tokens_used, sum)
        const budget = { name: 'thrift', scope: { type: 'agent', id: clerk }, limit: { tokens: 1 }, per: 'day' }
        const made = await service().call('POST', '/v1/budgets', { body: budget })
        assert.equal(made.status, 201, made.text)
        assert.match((await answer(parent, 'four')).response, /Agent thrifty failed: .*budget/)
      })
    })

    describe('the limits of a run', () => {
      test('include the usage of the runs that it called, at all levels', async () => {
        await named(service(), 'limit-1')
        await named(service(), 'limit-2', callerOf('limit-1'))
        const words = 'one two three four five six seven eight'
        const free = await newAgent(service(), callerOf('limit-2'))
        const { request_id, tokens_used: own } = await answer(free, words)
        const [middle] = await childrenOf(service(), request_id)
        const [last] = await childrenOf(service(), middle.request_id)
        const all = own + middle.tokens_used + last.tokens_used
        // Enough for the answers of the called runs, but not for its own last answer.
        const limited = (max_tokens_per_run: number) =>
          newAgent(service(), callerOf('limit-2', {}, { limits: { max_tokens_per_run } }))
        assert.equal((await answer(await limited(all + 1), words)).tokens_used, own)
        const refused = await invoke(await limited(own + 1), { message: words })
        assert.equal(refused.status, 500, refused.text)
        assert.match(refused.body.error.message, /limits\.max_tokens_per_run/)
      })
    })

    describe('a called run that waits for a person', () => {
      test('makes its caller wait; the client gets 202, and both continue after the decision', async () => {
        const key = await approver(service())
        await named(service(), 'cashier', refundingAgent(till))
        const parent = await newAgent(service(), callerOf('cashier', {}, { limits: { timeout_ms: 60_000 } }))
        const reply = await invoke(parent, { message: `order-${service().engine}` })
        assert.equal(reply.status, 202, reply.text)
        const { request_id, status, approvals } = reply.body.data
        assert.equal(status, 'waiting')
        const [{ child, call_id, tool }] = approvals
        assert.deepEqual([call_id, tool, child.agent], ['call_1', 'refund', 'cashier'])
        const path = `/v1/agents/${parent}/invocations/${request_id}`
        // The runs' timeout has passed, but time in which a person decides is not counted.
        service().advance(60_000)
        const woken = await until('the next attempt', async () => {
          const { data } = (await service().call('GET', path)).body
          return data.attempts.length > 1 && data
        })
        assert.equal(woken.status === 'failed', false)
        const listed = await service().call('GET', `/v1/approvals?request_id=${request_id}&status=pending`)
        assert.deepEqual(
          listed.body.data.map((one: Record<string, unknown>) => [one['request_id'], one['agent_id'], one['call_id']]),
          [[child.request_id, child.agent_id, call_id]],
        )
        const decision = { decision: 'approve' }
        const approval = `/v1/agents/${child.agent_id}/invocations/${child.request_id}/approvals/${call_id}`
        const decided = await decide(service(), approval, key, decision)
        assert.equal(decided.status, 200, decided.text)
        const receipt = await untilStatus(service(), path, 'completed')
        assert.equal(receipt.response, 'Said: Said: refunded 120')
        assert.equal(till.of(`order-${service().engine}`).length, 1)
      })
    })

    describe('memory', () => {
      const ask = async (agent: string, message: string) =>
        (await answer(agent, message, { user_id: 'mia', session_id: 'm1' })).response
      const remembered = async (agent: string) =>
        (await service().call('GET', `/v1/agents/${agent}/memory`)).body.data.map(
          ({ content }: { content: string }) => content,
        )
      for (const [memory, own] of [
        ['own', ['Ahoy', 'Ahoy']],
        ['none', []],
        ['shared', []],
      ] as const) {
        test(`${memory}: the called agent remembers in the right place`, async () => {
          const clerk = await named(service(), `memory-${memory}`)
          const parent = await newAgent(service(), callerOf(clerk, { memory }))
          await ask(parent, 'Ahoy')
          assert.deepEqual(await remembered(clerk), own)
          assert.equal((await remembered(parent)).length, 2)
        })
      }

      test("shared: the called agent gets the caller's memories; none: it gets no memories", async () => {
        const clerk = await named(service(), 'reminded', { model: 'builtin/recall' })
        for (const [memory, knows] of [
          ['shared', true],
          ['none', false],
        ] as const) {
          const parent = await newAgent(service(), callerOf(clerk, { memory }))
          const note = { items: [{ content: 'My boat is called Kittiwake', context: { user_id: 'mia' } }] }
          const noted = await service().call('POST', `/v1/agents/${parent}/memory`, { body: note })
          assert.equal(noted.status, 201, noted.text)
          assert.equal(/Kittiwake/.test(await ask(parent, 'What is my boat called?')), knows, memory)
          const [run] = (await service().call('GET', `/v1/agents/${clerk}/invocations`)).body.data
          const prompt = await service().call('GET', `/v1/agents/${clerk}/invocations/${run.request_id}/prompt`)
          assert.equal(/Kittiwake/.test(prompt.text), false, prompt.text)
        }
      })
    })

    test('moorage invocations get shows the runs that a run called', async () => {
      await named(service(), 'shown')
      const parent = await newAgent(service(), callerOf('shown'))
      const { request_id } = await answer(parent, 'Ahoy')
      const [run] = await childrenOf(service(), request_id)
      const shell = newShell(service())
      const { code, stdout, stderr } = await shell.moorage(['invocations', 'get', parent, request_id])
      shell.remove()
      assert.equal(code, 0, stderr)
      assert.match(stdout, /tool +ask → shown +2/)
      const [, called] = stdout.split('Runs it started:\n')
      assert.match(called ?? '', new RegExp(`${run.request_id} +shown +completed`))
    })

    describe('streams', () => {
      test("contain the call and its result with the run's ID, but not the called agent's text", async () => {
        await named(service(), 'speaker')
        const parent = await newAgent(service(), callerOf('speaker'))
        const response = await fetch(`${service().url}/v1/agents/${parent}/invoke`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${service().admin}`,
            'Content-Type': 'application/json',
            Accept: 'text/event-stream',
          },
          body: JSON.stringify({ message: 'Ahoy' }),
        })
        const events = await allEvents(response)
        assert.deepEqual(
          events.map(({ event }) => event).filter((event, i, all) => event !== all[i - 1]),
          ['start', 'tool_call', 'tool_result', 'delta', 'done'],
        )
        const dataOf = (wanted: string) => (events.find(({ event }) => event === wanted)?.data ?? {}) as Data
        const [run] = await childrenOf(service(), String(dataOf('start')['request_id']))
        const { child, result } = dataOf('tool_result')
        assert.deepEqual(child, { request_id: run.request_id, agent_id: run.agent_id, agent: 'speaker' })
        assert.equal(result, 'Ahoy')
        const said = events.flatMap(({ event, data }) => (event === 'delta' ? (data as { text: string }).text : []))
        assert.equal(said.join(''), 'Said: Ahoy')
      })

      test('for OpenAI clients look like those of other agents', async () => {
        await named(service(), 'chatter')
        await named(service(), 'chatting', callerOf('chatter'))
        const body = { model: 'chatting', messages: [{ role: 'user', content: 'Ahoy' }] }
        const whole = await service().call('POST', '/v1/chat/completions', { body })
        assert.equal(whole.body.choices[0].message.content, 'Said: Ahoy', whole.text)
        const streamed = await service().call('POST', '/v1/chat/completions', { body: { ...body, stream: true } })
        const chunks = streamed.text.split('\n\n').filter(Boolean)
        assert.equal(chunks.at(-1), 'data: [DONE]')
        const said = chunks.slice(0, -1).map((chunk) => JSON.parse(chunk.slice(6)).choices[0]?.delta?.content ?? '')
        assert.equal(said.join(''), 'Said: Ahoy')
      })
    })
  },
  LOCAL_TOOLS,
)
