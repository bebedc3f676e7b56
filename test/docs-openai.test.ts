import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { codeBlocks, ROOT, readDoc } from './support/docs.ts'
import { type Service, startService } from './support/service.ts'

const run = promisify(execFile)

/** Packages that are not here, so their samples are not run. */
const ABSENT = /from 'ai'/

describe('the programs of docs/openai.md', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const programs = codeBlocks(readDoc('docs/openai.md')).filter(({ language, code }) => {
    return language === 'ts' && !ABSENT.test(code)
  })
  assert.equal(programs.length, 2)
  for (const { code } of programs) {
    test(`${/from '(.*)'/.exec(code)?.[1]} gets an answer`, async () => {
      const program = code.replaceAll('http://127.0.0.1:8787', service.url).replaceAll('mrg_…', service.admin)
      const { stdout } = await run(process.execPath, ['--input-type=module-typescript', '-e', program], {
        cwd: fileURLToPath(ROOT),
      })
      assert.match(stdout, /Ahoy/)
    })
  }
})
