// npm run check: types, lint, format and dead code at the same time. Only problems are printed.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

const root = dirname(import.meta.dirname)
const color = process.stdout.isTTY === true
// Each checker works out the types that the others use too, so more of them than processors only cost time.
const tsc = ['tsc', '--noEmit', '--checkers', String(Math.min(4, availableParallelism())), '--pretty', String(color)]
const checks = {
  types: tsc,
  'types of the console': [...tsc, '--project', 'console'],
  lint: ['oxlint', '--quiet'],
  format: ['biome', 'check', `--colors=${color ? 'force' : 'off'}`],
  'dead code': ['knip', '--no-progress', '--no-config-hints'],
}

const results = await Promise.all(Object.entries(checks).map(([name, [tool, ...args]]) => check(name, tool, args)))
const failed = results.filter(({ code }) => code !== 0)
for (const { name, output } of failed) console.log(`── ${name}\n${output.trim()}\n`)
console.log(results.map(({ name, code, seconds }) => `${code === 0 ? '✔' : '✖'} ${name} ${seconds} s`).join('  '))
process.exitCode = failed.length > 0 ? 1 : 0

async function check(name, tool, args) {
  const started = performance.now()
  const child = spawn(join(root, 'node_modules/.bin', tool), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((done, fail) => {
    child.on('error', fail)
    child.on('close', done)
  })
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { name, code, output: out + errors, seconds: ((performance.now() - started) / 1000).toFixed(1) }
}
