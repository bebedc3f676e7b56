import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChildService } from './support/child-service.ts'

/** Makes a process say which packages it loads. */
const TELLING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    load(url, context, next) {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/.][^/]*)/.exec(url)?.[1]
      if (name) console.error('package ' + name)
      return next(url, context)
    },
  })
`)}`

// Each package costs the start milliseconds and stays in memory. Load it with `lazily` if most services never need it.
test('a service that starts with defaults loads only the packages that every service needs', async (t) => {
  const service = await startChildService(t, 'sqlite', { NODE_OPTIONS: `--import="${TELLING}"` })
  const packages = service.output().matchAll(/^package (\S+)$/gm)
  assert.deepEqual([...new Set(packages.map(([, name]) => name))].toSorted(), ['ipaddr.js', 'kysely', 'otpauth', 'zod'])
})
