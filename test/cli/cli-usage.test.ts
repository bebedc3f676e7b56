import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { databaseUrl } from '../support/inside.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100 }

for (const engine of ANY_ENGINE) {
  describe(`moorage usage and budgets on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let shell: Shell
    let agent: string
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
      shell = newShell(service)
      agent = await newAgent(service, { name: 'teller', model: 'local/dear' })
      model.reply({ text: ['Calm.'], usage: USAGE })
      await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'x', context: { user_id: 'ada' } } })
    })
    after(async () => {
      shell.remove()
      await stop()
    })

    test("usage prints sums, can be filtered by an agent's name, and can be CSV", async () => {
      const shown = await shell.moorage(['usage', '--by', 'model', '--agent', 'teller'])
      assert.equal(shown.code, 0, shown.stderr)
      assert.match(
        shown.stdout,
        /^MODEL +CALLS +INPUT +CACHED +CACHE WRITE +OUTPUT +REASONING +USD\nlocal\/dear +1 +1000 +0 +0 +100 +0 +unknown\n$/,
      )
      assert.match(shown.stderr, /1 call has no known price/)
      const csv = await shell.moorage(['usage', '--by', 'user,door', '--door', 'api', '--csv'])
      assert.equal(
        csv.stdout,
        'user_id,door,calls,input_tokens,cached_tokens,cache_write_tokens,output_tokens,reasoning_tokens,total_tokens,cost_usd,priced_cost_usd,unpriced_calls,lost_calls\r\nada,api,1,1000,0,0,100,0,1100,,0,1,0\r\n',
      )
      const none = await shell.moorage(['usage', '--agent', 'nobody'])
      assert.deepEqual([none.code, none.stdout], [3, ''])
    })

    test('usage reprice applies a new price to past usage, even if it is lower', async () => {
      const url = databaseUrl(service)
      const reprice = async (input: number) => {
        const env = {
          MOORAGE_DATA: service.data,
          ...(url && { DATABASE_URL: url }),
          MOORAGE_PRICES: JSON.stringify([{ model: 'local/dear', input, output: 10 }]),
        }
        const { code, stderr } = await shell.moorage(['usage', 'reprice', '--from', '1d', '--local'], { env })
        assert.equal(code, 0, stderr)
        return stderr
      }
      const costOf = async () => (await service.call('GET', `/v1/usage?agent_id=${agent}`)).body.data.totals.cost_usd
      assert.equal(await costOf(), null)
      assert.match(
        await reprice(3),
        /Repriced 1 of 1 calls, of which 1 had no price before\. In total, they cost USD 0\.004000 more/,
      )
      assert.equal(await costOf(), 0.004)
      const [receipt] = (await service.call('GET', `/v1/agents/${agent}/invocations`)).body.data
      assert.equal(receipt.cost_usd, 0.004)
      assert.match(
        await reprice(1),
        /Repriced 1 of 1 calls, of which 0 had no price before\. In total, they cost USD 0\.002000 less/,
      )
      assert.match(
        await reprice(1),
        /Repriced 0 of 1 calls, of which 0 had no price before\. In total, they cost USD 0\.000000 more/,
      )
    })

    test('prices can be set, listed and deleted; a budget in dollars warns about a missing price', async () => {
      const meta = await newAgent(service, { name: 'meta', model: 'local/meta/llama' })
      const create = (name: string) =>
        shell.moorage(['budgets', 'create', name, '--usd', '5', '--scope', 'agent', '--for', meta])
      const warned = await create('before')
      assert.equal(warned.code, 0, warned.stderr)
      assert.match(warned.stderr, /The model local\/meta\/llama has no price\. This budget refuses its calls/)
      const shown = await shell.moorage(['budgets', 'get', 'before'])
      assert.match(shown.stderr, /The model local\/meta\/llama has no price/)
      const set = await shell.moorage(['prices', 'set', 'local/meta/llama', '--input', '0.2', '--output', '0.6'])
      assert.equal(set.code, 0, set.stderr)
      assert.doesNotMatch((await create('after')).stderr, /has no price/)
      const listed = await shell.moorage(['prices', 'list'])
      assert.match(listed.stdout, /^local\/meta\/llama +0\.2 +0\.2 +0\.2 +0\.6 +0\.6 +0 +api$/m)
      const deleted = await shell.moorage(['prices', 'delete', 'local/meta/llama', '--yes'])
      assert.equal(deleted.code, 0, deleted.stderr)
      assert.match((await shell.moorage(['prices', 'list'])).stdout, /^local\/meta\/llama .*unknown$/m)
      assert.equal((await shell.moorage(['prices', 'set', 'llama', '--input', '1', '--output', '1'])).code, 2)
    })

    test('a budget has exactly one limit, which is a number; the list shows its scope', async () => {
      const create = (...args: string[]) => shell.moorage(['budgets', 'create', 'small', ...args])
      const two = await create('--usd', '1', '--tokens', '2')
      assert.deepEqual([two.code, two.stderr.includes('Specify only one of --usd, --tokens or --runs.')], [2, true])
      const word = await create('--usd', 'abc')
      assert.deepEqual([word.code, word.stderr.includes('It must be a number.')], [2, true])
      assert.equal((await create('--usd', '25', '--scope', 'user')).code, 0)
      assert.match((await shell.moorage(['budgets', 'list'])).stdout, /small +each user +USD 25 +month +0 +0/)
    })

    test('a budget can be named by its ID, or by its name if that is unique', async () => {
      const { id } = JSON.parse((await shell.moorage(['budgets', 'get', 'small', '--json'])).stdout)
      assert.match((await shell.moorage(['budgets', 'get', id])).stdout, /^name +small$/m)
      const none = await shell.moorage(['budgets', 'get', 'smaller'])
      assert.deepEqual([none.code, none.stderr], [3, 'error: Budget "smaller" not found.\n'])
      await shell.moorage(['budgets', 'create', 'small', '--runs', '9'])
      const two = await shell.moorage(['budgets', 'delete', 'small', '--yes'])
      assert.equal(two.code, 2)
      assert.match(two.stderr, /^error: Several budgets are named "small". Use an ID instead: bud_\w+, bud_\w+\n$/)
      await shell.moorage(['budgets', 'delete', id, '--yes'])
      assert.equal((await shell.moorage(['budgets', 'update', 'small', '--name', 'other'])).code, 0)
      assert.equal((await shell.moorage(['budgets', 'delete', 'other', '--yes'])).code, 0)
      assert.equal((await shell.moorage(['budgets', 'create', 'small', '--usd', '25', '--scope', 'user'])).code, 0)
    })

    test('pause --all-projects prints the command that resumes', async () => {
      const paused = await shell.moorage(['pause', 'a loop', '--all-projects'])
      assert.match(paused.stderr + paused.stdout, /nothing runs until `moorage resume --all-projects`/)
      assert.equal((await shell.moorage(['resume', '--all-projects'])).code, 0)
    })

    test('invoke can wait for a budget in a background run', async () => {
      const made = await shell.moorage(['invoke', 'teller', 'Go', '--background', '--on-budget', 'wait'])
      assert.equal(made.code, 0, made.stderr)
      const refused = await shell.moorage(['invoke', 'teller', 'Go', '--on-budget', 'wait'])
      assert.match(refused.stderr, /only allowed for background runs/)
      assert.equal((await shell.moorage(['invoke', 'teller', 'Go', '--on-budget', 'hope'])).code, 2)
    })
  })
}
