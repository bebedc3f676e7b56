import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { partsOf, rowsOf, storeOf } from '../support/inside.ts'
import { type ChatPlatform, type Mood, refuse, startChatPlatform } from '../support/outside/chat-platform.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'
import { createTrigger, type MadeTrigger, post, signed } from '../support/slices/triggers.ts'

const SIGNING = 'slack-signing-secret'
const BOT = 'xoxb-1-abcdefghijklmnop'
const TELEGRAM_BOT = '42:AAabcdefghijklmnopqrstuvwxyz'
const HOUR_MS = 3_600_000

let stamp = 1_700_000_000
const nextTs = () => `${++stamp}.000100`

type SlackFields = Record<string, unknown> & { team_id?: string }

/** A direct message to the bot, unless `fields` say otherwise. */
const slackEvent = (text: string, { team_id = 'T1', ...fields }: SlackFields = {}) => ({
  type: 'event_callback',
  team_id,
  event_id: `Ev${Math.random()}`,
  authorizations: [{ team_id, user_id: 'UBOT', is_bot: true }],
  event: { type: 'message', channel_type: 'im', channel: 'D1', user: 'U1', text, ts: nextTs(), ...fields },
})

const mention = (text: string, fields: SlackFields = {}) =>
  slackEvent(text, { type: 'app_mention', channel_type: undefined, channel: 'C1', ...fields })

let update = 0
const telegramUpdate = (text: string, fields: object = {}) => ({
  update_id: ++update,
  message: {
    message_id: ++update,
    from: { id: 42, is_bot: false, first_name: 'Ann' },
    chat: { id: 42, type: 'private' },
    date: 1,
    text,
    ...fields,
  },
})

onBothEngines(
  'conversations',
  (service) => {
    let platform: ChatPlatform
    before(async () => {
      platform = await startChatPlatform()
      const { host } = platform
      const secrets = { SIGNING, BOT, TELEGRAM_BOT, SHORT: 'x y', ELSEWHERE: BOT }
      for (const [name, value] of Object.entries(secrets)) {
        const hosts = [name === 'ELSEWHERE' ? 'slack.com' : host]
        await ok('PUT', `/v1/secrets/${name}`, { body: { value, hosts } })
      }
    })
    after(() => platform.close())

    const ok = async (method: string, path: string, options: object = {}) => {
      const reply = await service().call(method, path, options)
      assert.ok(reply.status < 300, `${method} ${path} ${reply.text}`)
      return reply.body.data
    }
    const slackFields = () => ({
      kind: 'slack',
      message: undefined,
      verify: { scheme: 'slack', secret: 'SIGNING' },
      slack: { bot_token: 'BOT', api_url: platform.url },
    })
    const telegramFields = () => ({
      kind: 'telegram',
      message: undefined,
      verify: { scheme: 'telegram', secret: 'SIGNING' },
      telegram: { bot_token: 'TELEGRAM_BOT', api_url: platform.url },
    })
    type Made = MadeTrigger & { agent_id: string; path: string }
    const made = async (fields: object, agent?: object): Promise<Made> => {
      platform.mood()
      const agent_id = await newAgent(service(), agent)
      const trigger = await createTrigger(service(), agent_id, fields)
      return { ...trigger, agent_id, path: `/v1/agents/${agent_id}/triggers/${trigger.id}` }
    }
    const slack = (address: string, event: object) =>
      post(service(), address, signed.slack(SIGNING, JSON.stringify(event), Math.floor(service().now() / 1000)))
    const telegram = (address: string, sent: object) =>
      post(service(), address, signed.telegram(SIGNING, JSON.stringify(sent)))
    const deliveries = (path: string) => ok('GET', `${path}/deliveries?sort=created_at`)
    const shown = (text: string) => until(`${text} is shown`, () => platform.shown().includes(text))
    const says = (reply: string, more: object = {}) => ({
      model: 'builtin/script',
      script: { rules: [{ reply, ...more }] },
    })

    test('Slack: a mention starts a thread, which is a session, and the answer is sent to it once', async () => {
      const { address, agent_id, path, ...trigger } = await made(
        slackFields(),
        says('**Aye** <!channel> & [map](https://a.example/m)'),
      )
      assert.deepEqual(
        [trigger['kind'], trigger['message'], trigger['reply'], trigger['user_prefix'], trigger['telegram']],
        ['slack', '{{text}}', true, 'slack:', null],
      )
      const event = mention('<@UBOT> is the tide in? a &lt; b <https://a.example|here>')
      const { ts } = event.event
      const sent = await slack(address, event)
      assert.equal(sent.status, 202, sent.text)
      const answer = await until('it is answered', () =>
        platform.asked.find(({ method }) => method === 'chat.postMessage'),
      )
      assert.deepEqual(answer, {
        method: 'chat.postMessage',
        token: BOT,
        body: {
          channel: 'C1',
          thread_ts: ts,
          text: '*Aye* &lt;!channel&gt; &amp; <https://a.example/m|map>',
          unfurl_links: false,
          unfurl_media: false,
        },
      })
      const run = await ok('GET', `/v1/agents/${agent_id}/invocations/${sent.body.data.request_id}`)
      assert.equal(run.message, 'is the tide in? a < b here (https://a.example)')
      assert.deepEqual([run.context.user_id, run.context.session_id], ['slack:T1/U1', `T1/C1/${ts}`])
      const typing = platform.asked.find(({ method }) => method === 'assistant.threads.setStatus')
      assert.deepEqual(typing?.body, { channel_id: 'C1', thread_ts: ts, status: 'is typing…' })

      // Slack sends it again with another event ID, and once more as another kind of event.
      for (const again of [event, { ...event, event_id: 'Ev2' }]) {
        const { status, body } = await slack(address, again)
        assert.deepEqual([status, body.data.repeated], [200, true])
      }
      const inThread = mention('<@UBOT> and now?', { thread_ts: ts })
      assert.equal((await slack(address, inThread)).status, 202)
      const [first, second] = await until('both are sent', async () => {
        const all = await deliveries(path)
        return all.every((one: { answer: { status: string } | null }) => one.answer?.status === 'sent')
          ? all
          : undefined
      })
      assert.deepEqual([first.session_id, second.session_id, first.repeats], [`T1/C1/${ts}`, `T1/C1/${ts}`, 2])
      const { sent_at, ...status } = first.answer
      assert.deepEqual(status, { status: 'sent', tries: 1, error: null, next_attempt_at: null })
      assert.ok(sent_at >= first.created_at)
      assert.equal(platform.shown().length, 2)
    })

    test('Slack: its own messages, other bots, changes and other events are ignored; one byte changed is refused', async () => {
      const { address, path } = await made(slackFields())
      const ignored = [
        slackEvent('own', { user: 'UBOT' }),
        slackEvent('bot', { bot_id: 'B1' }),
        mention('<@UBOT> bot', { bot_id: 'B1' }),
        slackEvent('changed', { subtype: 'message_changed' }),
        slackEvent('channel', { channel_type: 'channel' }),
        slackEvent('slackbot', { user: 'USLACKBOT' }),
        slackEvent('no user', { user: undefined }),
        mention('<@UBOT>'),
        { type: 'event_callback', team_id: 'T1', event: { type: 'reaction_added', user: 'U1' } },
        { type: 'event_callback', event: null },
      ]
      for (const event of ignored) {
        const reply = await slack(address, event)
        assert.deepEqual([reply.status, reply.body.data.ignored], [200, true], JSON.stringify(event))
      }
      const challenge = await slack(address, { type: 'url_verification', challenge: 'abc' })
      assert.deepEqual([challenge.status, challenge.body], [200, { challenge: 'abc' }])
      const good = signed.slack(SIGNING, JSON.stringify(slackEvent('x')), Math.floor(service().now() / 1000))
      const forged = await post(service(), address, { ...good, body: good.body.replace('"x"', '"y"') })
      const old = signed.slack(SIGNING, JSON.stringify(slackEvent('x')), Math.floor(service().now() / 1000) - 301)
      assert.deepEqual([forged.status, (await post(service(), address, old)).status], [401, 401])
      const all = await deliveries(path)
      assert.ok(all.every(({ request_id }: { request_id: string | null }) => request_id === null))
    })

    test('five messages at once get five answers in order, also if the platform is slow and refuses', async () => {
      const { address } = await made(slackFields(), {
        model: 'builtin/script',
        script: { rules: [{ reply: '{{message}}' }] },
      })
      let refusals = 0
      platform.mood(async ({ body }, response) => {
        const n = Number(/\d/.exec(body.text)?.[0])
        // The first ones take longest, so answers that didn't wait for each other would overtake.
        await new Promise((resolve) => setTimeout(resolve, (5 - n) * 10))
        if (n === 1 && ++refusals < 3) {
          service().advance(5_000)
          return response.writeHead(429, { 'Retry-After': '0' }).end('{"ok":false,"error":"ratelimited"}')
        }
        return undefined
      })
      const known = platform.shown().length
      for (let n = 0; n < 5; n++) assert.equal((await slack(address, slackEvent(`message ${n}`))).status, 202)
      const answers = await until('all are shown', () =>
        platform.shown().length >= known + 5 ? platform.shown().slice(known) : undefined,
      )
      assert.deepEqual(
        answers.map((text) => /\d/.exec(text)?.[0]),
        ['0', '1', '2', '3', '4'],
      )
      assert.equal(refusals, 3)
    })

    test('a platform that refuses for an hour gets the answer once, later; another conversation does not wait', async () => {
      const { address, path } = await made(slackFields(), says('late'))
      const hang: Mood = () => true
      const reset: Mood = (_request, response) => response.destroy()
      const moods = [
        refuse(503, 'down'),
        refuse(200, { ok: false, error: 'internal_error' }),
        refuse(200, '{"ok":tr'),
        refuse(200, '"no object"'),
        refuse(429, { ok: false, error: 'ratelimited' }, { 'Retry-After': '1800' }),
        refuse(302, '', { Location: 'http://127.0.0.1/' }),
        reset,
        hang,
      ]
      let tries = 0
      platform.mood((request, response) =>
        request.body.channel === 'D1' ? moods[tries++ % moods.length]?.(request, response) : undefined,
      )
      await slack(address, slackEvent('one'))
      await slack(address, slackEvent('two', { channel: 'D2' }))
      await shown('late')
      const from = service().now()
      let waited = 0
      while (service().now() < from + HOUR_MS) {
        const known = tries
        const { answer } = await until('it was tried', async () => {
          const [one] = await deliveries(path)
          return one.answer?.next_attempt_at && one.answer.tries > waited ? one : undefined
        })
        waited = answer.tries
        assert.ok(answer.error.length > 0 && known <= tries)
        const rest = Date.parse(answer.next_attempt_at) - service().now()
        if (waited === 5) assert.ok(rest > 1_700_000, 'it waits as long as the platform asked')
        service().advance(Math.max(rest, 1))
      }
      const late = () => platform.shown().filter((text) => text === 'late').length
      assert.equal(late(), 1, 'only the other conversation has its answer')
      platform.mood()
      service().advance(HOUR_MS)
      await until('it is shown', () => late() === 2)
      const [one] = await until('it is stored', async () => {
        const all = await deliveries(path)
        return all[0].answer.status === 'sent' ? all : undefined
      })
      assert.ok(one.answer.tries > 8)
    })

    test('a message is posted once, although the reply to it is long or does not arrive completely', async () => {
      const head = { 'Content-Type': 'application/json' }
      const replyOf = (bytes: number) => JSON.stringify({ ok: true, message: { blocks: 'x'.repeat(bytes) } })
      const moods: Mood[] = [
        (_request, response) => response.writeHead(200, head).end(replyOf(70_000)),
        (_request, response) => response.writeHead(200, head).end(replyOf(1_100_000)),
        (_request, response) =>
          response.writeHead(200, head).write(replyOf(10).slice(0, -5), () => setImmediate(() => response.destroy())),
      ]
      const long = refuse(429, { ok: false, error: 'x'.repeat(1_100_000) }, { 'Retry-After': '1800' })
      const { address, path } = await made(slackFields(), says('posted once'))
      const known = platform.asked.length
      platform.mood((request, response) => (moods[Number(request.body.channel.slice(2))] ?? long)(request, response))
      for (let n = 0; n <= moods.length; n++) await slack(address, slackEvent('x', { channel: `DL${n}` }))
      const answers = await until('all are tried', async () => {
        const all = (await deliveries(path)).map(({ answer }: { answer: { tries: number } | null }) => answer)
        return all.every((one: { tries: number } | null) => one?.tries) ? all : undefined
      })
      assert.deepEqual(
        answers.map(({ status, tries, error }: Record<string, unknown>) => [status, tries, error]),
        [...moods.map(() => ['sent', 1, null]), ['pending', 1, 'HTTP 429']],
      )
      assert.ok(Date.parse(answers.at(-1).next_attempt_at) > service().now() + 1_700_000, 'it waits as asked')
      const posted = platform.asked.slice(known).filter(({ method }) => method === 'chat.postMessage')
      assert.equal(posted.length, moods.length + 1)
      await ok('DELETE', path)
    })

    test('parts of an answer are posted once, although storing that they have arrived fails', async () => {
      const { address, id, path } = await made(
        slackFields(),
        says(`${'north '.repeat(600)}\n\n${'south '.repeat(600)}`),
      )
      const { storage } = partsOf(service())
      const { db, transaction } = storage
      const updateTable = db.updateTable
      const failed = new Set<string>()
      const fail = (what: string) => {
        failed.add(what)
        throw new Error(`the store is away: ${what}`)
      }
      db.updateTable = ((table: 'chat_answers') => {
        if (table === 'chat_answers' && !failed.has('a part')) fail('a part')
        return updateTable.call(db, table)
      }) as typeof updateTable
      storage.transaction = (work) =>
        transaction(async (held) => {
          const done = await work(held)
          const one = await held
            .selectFrom('chat_answers')
            .select(['parts_sent', 'status'])
            .where('trigger_id', '=', id)
            .executeTakeFirst()
          const state = `${one?.parts_sent} ${one?.status}`
          if (['1 pending', '2 sent'].includes(state) && !failed.has(state)) fail(state)
          return done
        })
      try {
        const known = platform.shown().length
        await slack(address, slackEvent('one', { channel: 'DK' }))
        await until('the first result is not stored', () => failed.has('1 pending'))
        service().advance(60_000)
        await until('the last result is not stored', () => failed.has('2 sent'))
        service().advance(60_000)
        const [{ answer }] = await until('it is stored', async () => {
          const all = await deliveries(path)
          return all[0].answer?.status === 'sent' ? all : undefined
        })
        assert.deepEqual([answer.tries, answer.error], [1, null])
        assert.deepEqual(
          platform
            .shown()
            .slice(known)
            .map((text) => text.slice(0, 5)),
          ['north', 'south'],
        )
      } finally {
        db.updateTable = updateTable
        storage.transaction = transaction
      }
    })

    test('an answer that the platform will never accept fails at once, and the next one is sent', async () => {
      const { address, path } = await made(slackFields(), says('gone'))
      platform.mood((request, response) =>
        platform.asked.at(-1) === request
          ? refuse(200, { ok: false, error: 'channel_not_found' })(request, response)
          : undefined,
      )
      await slack(address, slackEvent('one', { channel: 'D3' }))
      const failed = await until('it failed', async () => {
        const [one] = await deliveries(path)
        return one.answer?.status === 'failed' ? one.answer : undefined
      })
      assert.deepEqual([failed.error, failed.tries, failed.next_attempt_at], ['channel_not_found', 1, null])
      platform.mood()
      await slack(address, slackEvent('two', { channel: 'D3' }))
      await shown('gone')
    })

    test('a run that fails says so; without `reply` nothing is sent', async () => {
      const failing = await made(slackFields(), {
        ...says('too late', { delay_ms: 30_000 }),
        limits: { timeout_ms: 1_000 },
      })
      await slack(failing.address, slackEvent('hello', { channel: 'D4' }))
      const said = await until('it says so', () => platform.asked.find(({ body }) => body.channel === 'D4'))
      assert.match(said.body.text, /^Sorry, /)
      const silent = await made({ ...slackFields(), reply: false }, says('nobody hears this'))
      const { body } = await slack(silent.address, slackEvent('hello', { channel: 'D5' }))
      await until('it has run', async () => {
        const run = await ok('GET', `/v1/agents/${silent.agent_id}/invocations/${body.data.request_id}`)
        return run.status === 'completed'
      })
      assert.equal((await deliveries(silent.path))[0].answer, null)
      assert.ok(!platform.shown().includes('nobody hears this'))
    })

    test('Telegram: chats and topics are sessions, and the token is in no log, error or row', async () => {
      const { address, agent_id, path } = await made(telegramFields(), says('Aye'))
      const sent = await telegram(address, telegramUpdate('Is the tide in?'))
      assert.equal(sent.status, 202, sent.text)
      await shown('Aye')
      const group = telegramUpdate('And now?', {
        chat: { id: -100_123, type: 'supergroup' },
        is_topic_message: true,
        message_thread_id: 7,
      })
      await telegram(address, group)
      const [, inTopic] = await until('both are answered', () => {
        const answers = platform.asked.filter(({ method }) => method === 'sendMessage')
        return answers.length === 2 ? answers : undefined
      })
      const { message_id } = group.message
      assert.deepEqual(inTopic, {
        method: 'sendMessage',
        token: TELEGRAM_BOT,
        body: {
          chat_id: -100_123,
          message_thread_id: 7,
          text: 'Aye',
          link_preview_options: { is_disabled: true },
          reply_parameters: { message_id, allow_sending_without_reply: true },
        },
      })
      assert.ok(platform.asked.some(({ method, body }) => method === 'sendChatAction' && body.action === 'typing'))
      const runs = await ok('GET', `/v1/agents/${agent_id}/invocations?sort=created_at`)
      assert.deepEqual(
        runs.map(({ context }: { context: Record<string, string> }) => [context['user_id'], context['session_id']]),
        [
          ['telegram:42', '42'],
          ['telegram:42', '-100123/7'],
        ],
      )
      for (const ignored of [{ from: { id: 1, is_bot: true } }, { text: undefined }]) {
        assert.equal((await telegram(address, telegramUpdate('x', ignored))).body.data.ignored, true)
      }
      assert.equal((await telegram(address, { update_id: 1, edited_message: { text: 'x' } })).body.data.ignored, true)

      const why = `Too Many Requests: bot ${TELEGRAM_BOT} must wait`
      platform.mood(refuse(429, { ok: false, error_code: 429, description: why, parameters: { retry_after: 77 } }))
      await telegram(address, telegramUpdate('again'))
      const refused = await until('it was refused', async () => {
        const { answer } = (await deliveries(path)).at(-1)
        return answer?.error ? answer : undefined
      })
      assert.equal(refused.error, 'Too Many Requests: bot [secret TELEGRAM_BOT] must wait')
      const rest = Date.parse(refused.next_attempt_at) - service().now()
      assert.ok(rest > 60_000 && rest <= 77_000, `${rest}`)
      platform.mood(refuse(403, { ok: false, description: 'Forbidden: bot was blocked by the user' }))
      service().advance(77_000)
      await until('it failed', async () => (await deliveries(path)).at(-1).answer.status === 'failed')
      const everything = JSON.stringify([
        await rowsOf(service(), 'chat_answers'),
        await rowsOf(service(), 'incoming_deliveries'),
        await rowsOf(service(), 'audit_log'),
        service().log(),
      ])
      for (const token of [TELEGRAM_BOT, encodeURIComponent(TELEGRAM_BOT), BOT]) assert.ok(!everything.includes(token))
    })

    test('a long answer is sent in parts; after a crash it continues with the part that was not sent', async () => {
      const code = `\`\`\`ts\n${'const a = 1\n'.repeat(600)}\`\`\``
      const long = `${'word '.repeat(700)}\n\n${code}\n\nEnd 😀`
      const { address } = await made(telegramFields(), says(long))
      const known = platform.shown().length
      let isDown = false
      platform.mood((_request, response) => {
        if (platform.shown().length < known + 1 || !isDown) return undefined
        return response.destroy()
      })
      isDown = true
      await telegram(address, telegramUpdate('tell me all'))
      await until('the first part is shown', () => platform.shown().length === known + 1)
      await service().restart()
      platform.mood()
      service().advance(HOUR_MS)
      const parts = await until('the end is shown', () => {
        const all = platform.shown().slice(known)
        return all.at(-1)?.endsWith('End 😀') ? all : undefined
      })
      assert.ok(
        parts.length >= 3 && parts.every((text) => text.length <= 4_096),
        `${parts.map(({ length }) => length)}`,
      )
      assert.ok(
        parts.every((text) => text.split('```').length % 2 === 1),
        'code blocks are closed in each part',
      )
      const words = (text: string) => text.replaceAll('```ts', '').replaceAll('```', '').split(/\s+/).filter(Boolean)
      assert.deepEqual(words(parts.join('\n')), words(long), 'nothing is lost and nothing is sent twice')
    })

    test('an erased run or user gets no answer any more', async () => {
      const { address, agent_id } = await made(slackFields(), says('too late'))
      platform.mood(refuse(503, 'down'))
      const ids: string[] = []
      for (const user of ['U7', 'U8']) {
        const { body } = await slack(address, slackEvent('x', { user, channel: `D${user}` }))
        ids.push(body.data.request_id)
      }
      const pending = () =>
        storeOf(service()).selectFrom('chat_answers').select('request_id').where('request_id', 'in', ids).execute()
      await until('both wait', async () => (await pending()).length === 2)
      await ok('DELETE', `/v1/agents/${agent_id}/invocations/${ids[0]}`)
      await ok('DELETE', '/v1/users/slack:T1%2FU8')
      assert.deepEqual(await pending(), [])
      platform.mood()
    })

    test('the answer of a run that ends while its user is erased goes with the run', async () => {
      const { address, agent_id } = await made(slackFields(), says('too late'))
      platform.mood(refuse(503, 'down'))
      const { storage } = partsOf(service())
      const { transaction } = storage
      const send = () => slack(address, slackEvent('x', { user: 'U9', channel: 'DU9' }))
      const rows = (table: 'chat_answers' | 'incoming_deliveries') =>
        storeOf(service()).selectFrom(table).selectAll().where('user_id', '=', 'slack:T1/U9').execute()
      await send()
      await until('it waits', async () => (await rows('chat_answers')).length === 1)
      let isBetween = false
      storage.transaction = async (work) => {
        if (!isBetween && (await rows('incoming_deliveries')).length === 0 && !isBetween) {
          isBetween = true
          const { body } = await send()
          const path = `/v1/agents/${agent_id}/invocations/${body.data.request_id}`
          await until('the run has ended', async () => (await ok('GET', path)).status === 'completed')
        }
        return transaction(work)
      }
      try {
        const erased = await ok('DELETE', '/v1/users/slack:T1%2FU9')
        assert.deepEqual([erased.invocations, erased.unfinished], [2, 0])
        assert.deepEqual(await rows('chat_answers'), [])
      } finally {
        storage.transaction = transaction
      }
    })

    describe('what a run asks', () => {
      const question = { question: 'Which berth?', options: ['North', 'South'] }
      const asking = (more: object = {}) => ({
        model: 'builtin/script',
        tools: [{ type: 'ask_person' }],
        script: { rules: [{ call: { tool: 'ask_person', arguments: question } }] },
        approvals: { self: true },
        ...more,
      })
      const posted = (channel: string) =>
        until('it asks', () =>
          platform.asked.find(({ method, body }) => method === 'chat.postMessage' && body.channel === channel),
        )
      const press = (address: string, value: string, user: { id: string; team_id?: string }) => {
        const payload = {
          type: 'block_actions',
          user,
          team: { id: 'T1' },
          channel: { id: 'D1' },
          message: { ts: '1.1', text: 'Which berth?' },
          actions: [{ value }],
        }
        const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
        const sent = signed.slack(SIGNING, body, Math.floor(service().now() / 1000))
        const headers = { ...sent.headers, 'Content-Type': 'application/x-www-form-urlencoded' }
        return post(service(), address, { ...sent, headers })
      }

      test('Slack: only the person who wrote can choose, once, and only the buttons of that trigger', async () => {
        const { address, agent_id } = await made(slackFields(), asking())
        const { body } = await slack(address, slackEvent('moor', { channel: 'D31', user: 'U3' }))
        const asked = await posted('D31')
        const [section, actions] = asked.body.blocks
        assert.deepEqual([asked.body.text, section.text.text], ['Which berth?', 'Which berth?'])
        const [north, south] = actions.elements
        assert.deepEqual([north.text.text, south.text.text], ['North', 'South'])

        const other = await made(slackFields(), asking())
        const refused = [
          await press(address, south.value, { id: 'U4' }),
          await press(address, south.value, { id: 'U3', team_id: 'T2' }),
          await press(other.address, south.value, { id: 'U3' }),
          await press(address, south.value.replace('1:', 'approve:'), { id: 'U3' }),
          await press(address, south.value.replace('1:', '7:'), { id: 'U3' }),
          await press(address, '1:apr_00000000000000000000000000', { id: 'U3' }),
          await press(address, '', { id: 'U3' }),
        ]
        for (const reply of refused) assert.deepEqual([reply.status, reply.body.data.ignored], [200, true])

        const presses = await Promise.all([1, 2, 3].map(() => press(address, south.value, { id: 'U3' })))
        assert.equal(presses.filter((reply) => reply.body.data.ignored === false).length, 1)
        const answer = await until(
          'it answers',
          () => platform.asked.filter(({ body: one }) => one.channel === 'D31')[1],
        )
        assert.equal(answer.body.text, 'South')
        const updated = platform.asked.find(({ method }) => method === 'chat.update')
        assert.deepEqual(updated?.body, { channel: 'D1', ts: '1.1', text: 'Which berth?\n\nSouth', blocks: [] })
        const run = await ok('GET', `/v1/agents/${agent_id}/invocations/${body.data.request_id}`)
        assert.equal(run.status, 'completed')
        const audited = await ok('GET', `/v1/audit-log?agent_id=${agent_id}&action=decideApproval`)
        assert.deepEqual(
          audited.map(({ actor, outcome }: { actor: string; outcome: string }) => [actor, outcome]),
          [[run.created_by, 'success']],
        )
      })

      test('a question or an option that is cut within a character is sent with whole characters', async () => {
        const long = { question: `${'x'.repeat(1_499)}🚢`, options: [`${'y'.repeat(69)}🚢`, 'South'] }
        const script = { rules: [{ call: { tool: 'ask_person', arguments: long } }] }
        const { address } = await made(slackFields(), asking({ script }))
        await slack(address, slackEvent('moor', { channel: 'D61', user: 'U3' }))
        const { text, blocks } = (await posted('D61')).body
        const label = blocks[1].elements[0].text.text
        assert.ok(text.startsWith('x'.repeat(1_499)) && label.startsWith('y'.repeat(69)))
        for (const one of [text, label]) assert.ok(one.isWellFormed(), one.slice(-3))
      })

      test('without options, the next message of the person in the conversation is the answer', async () => {
        const rules = [{ call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: '{{result}}' }]
        const agent = { tools: [{ type: 'ask_person' }], model: 'builtin/script', script: { rules } }
        const { address, agent_id } = await made(slackFields(), { ...agent, approvals: { self: true } })
        const say = (text: string, user: string, channel = 'D51') => slack(address, slackEvent(text, { channel, user }))
        const { request_id } = (await say('moor', 'U3')).body.data
        const asked = await posted('D51')
        assert.deepEqual([asked.body.text, asked.body.blocks], ['Which berth?', undefined])
        // Not the person, and not the conversation.
        for (const [user, channel] of [
          ['U4', 'D51'],
          ['U3', 'D52'],
        ] as const) {
          assert.notEqual((await say('West', user, channel)).body.data.request_id, request_id)
        }
        const event = slackEvent('North', { channel: 'D51', user: 'U3' })
        const replies = await Promise.all([1, 2, 3].map(() => slack(address, event)))
        assert.deepEqual(
          replies.map(({ status, body }) => [status, body.data.request_id]).toSorted(),
          [200, 200, 202].map((status) => [status, request_id]),
        )
        const run = await until('it is answered', async () => {
          const found = await ok('GET', `/v1/agents/${agent_id}/invocations/${request_id}`)
          return found.status === 'completed' ? found : undefined
        })
        assert.equal(run.response, 'North')
        assert.equal((await ok('GET', `/v1/agents/${agent_id}/invocations`)).length, 3)
        const audited = await ok('GET', `/v1/audit-log?agent_id=${agent_id}&action=decideApproval`)
        assert.equal(audited.length, 1)
      })

      test('without `approvals.self`, or with a one-time code, there are no buttons, and none are accepted', async () => {
        const codes = { security: { mfa: { enabled: true, requiredFor: ['approve'] } } }
        for (const [i, more] of [{ approvals: { self: false } }, codes].entries()) {
          const { address, agent_id } = await made(slackFields(), asking(more))
          const { body } = await slack(address, slackEvent('moor', { channel: `D4${i}`, user: 'U3' }))
          const asked = await posted(`D4${i}`)
          assert.deepEqual(
            [asked.body.blocks, asked.body.text.endsWith('This must be answered in Moorage.')],
            [undefined, true],
          )
          const [approval] = await ok('GET', `/v1/approvals?request_id=${body.data.request_id}`)
          assert.equal((await press(address, `1:${approval.id}`, { id: 'U3' })).body.data.ignored, true)
          await ok('POST', `/v1/agents/${agent_id}/invocations/${body.data.request_id}/cancel`)
        }
      })

      test('Telegram: the person approves a call', async () => {
        const tool = {
          type: 'http',
          name: 'moor',
          method: 'POST',
          url: platform.url,
          input_schema: { type: 'object' },
          approval: 'always',
        }
        const script = { rules: [{ call: { tool: 'moor', arguments: { berth: 3 } }, reply: 'Moored' }] }
        const agent = { model: 'builtin/script', tools: [tool], script, approvals: { self: true } }
        const { address } = await made(telegramFields(), agent)
        const chat = { id: 77, type: 'private' }
        await telegram(address, telegramUpdate('moor', { chat }))
        const asked = await until('it asks', () =>
          platform.asked.find(({ method, body }) => method === 'sendMessage' && body.chat_id === 77),
        )
        assert.match(asked.body.text, /^Call moor\?\n```\n\{\n {2}"berth": 3/)
        const [[approve], [reject]] = asked.body.reply_markup.inline_keyboard
        assert.deepEqual(
          [approve.text, reject.text, Buffer.byteLength(approve.callback_data) <= 64],
          ['Approve', 'Reject', true],
        )
        const pressed = (id: number) => ({
          update_id: ++update,
          callback_query: {
            id: 'q1',
            from: { id, is_bot: false },
            data: approve.callback_data,
            message: { message_id: 9, chat, text: asked.body.text },
          },
        })
        assert.equal((await telegram(address, pressed(43))).body.data.ignored, true)
        assert.equal((await telegram(address, pressed(42))).body.data.ignored, false)
        await shown('Moored')
        const edited = await until('the buttons go away', () =>
          platform.asked.find(({ method }) => method === 'editMessageText'),
        )
        assert.ok(edited.body.text.endsWith('\n\nApproved'))
      })
    })

    test('what is wrong is refused by the name of the field', async () => {
      const agent_id = await newAgent(service())
      const other = { bot_token: 'TELEGRAM_BOT', api_url: platform.url }
      const wrong: [object, string][] = [
        [{ ...slackFields(), slack: undefined }, 'slack'],
        [{ ...slackFields(), telegram: other }, 'telegram'],
        [{ ...slackFields(), slack: { ...slackFields().slack, bot_token: 'NONE' } }, 'slack.bot_token'],
        [{ ...slackFields(), slack: { ...slackFields().slack, bot_token: 'ELSEWHERE' } }, 'slack.bot_token'],
        [{ ...slackFields(), slack: { bot_token: 'BOT', api_url: 'http://10.0.0.1/api' } }, 'slack.api_url'],
        [{ ...slackFields(), slack: { bot_token: 'BOT', api_url: 'https://a.example/?x=' } }, 'slack.api_url'],
        [{ ...slackFields(), verify: { scheme: 'none' } }, 'verify.scheme'],
        [{ ...slackFields(), user_from: '/user' }, 'user_from'],
        [{ ...slackFields(), dedupe_from: '/event_id' }, 'dedupe_from'],
        [{ ...slackFields(), message: '{{words}}' }, 'message'],
        [{ verify: { scheme: 'none' }, message: '{{text}}' }, 'message'],
        [{ verify: { scheme: 'none' }, message: 'x', reply: true }, 'reply'],
        [{ verify: { scheme: 'none' }, message: 'x', slack: other }, 'slack'],
        [{ verify: { scheme: 'none' }, message: 'x', kind: 'fax' }, 'kind'],
      ]
      for (const [fields, field] of wrong) {
        const reply = await service().call('POST', `/v1/agents/${agent_id}/triggers`, { body: fields })
        assert.deepEqual(
          [reply.status, fieldsOf(reply.body)],
          [400, [field]],
          `${JSON.stringify(fields)} ${reply.text}`,
        )
      }
      const { path, address } = await made(slackFields(), says('{{message}}'))
      const changed = await service().call('PATCH', path, { body: { slack: null } })
      assert.deepEqual([changed.status, fieldsOf(changed.body)], [400, ['slack']])
      await ok('PATCH', path, {
        body: { message: '{{/event/user}} says: {{text}}', slack: { bot_token: 'SHORT', api_url: platform.url } },
      })
      const tested = await ok('POST', `${path}/test`, { body: { payload: slackEvent('Ahoy'), run: true } })
      assert.deepEqual([tested.outcome, tested.message, tested.user_id], ['accepted', 'U1 says: Ahoy', 'slack:T1/U1'])
      assert.equal((await ok('POST', `${path}/test`)).outcome, 'accepted', 'the example is a message')
      const known = platform.asked.length
      await slack(address, slackEvent('Ahoy', { channel: 'D9' }))
      const { answer } = await until('it is sent', async () => {
        const all = await deliveries(path)
        return all.at(-1).answer?.status === 'sent' ? all.at(-1) : undefined
      })
      assert.equal(answer.error, null)
      const posted = platform.asked.slice(known).filter(({ method }) => method === 'chat.postMessage')
      assert.equal(posted.length, 1, 'a test is not answered')
    })
  },
  { ...LOCAL_TOOLS, MOORAGE_WEBHOOKS__ATTEMPT_TIMEOUT: '4s' },
)
