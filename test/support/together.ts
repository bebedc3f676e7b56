// Runs many test files in one process: MOORAGE_TEST_FILES lists them, one to a line.
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'

const GRACE_MS = 5_000

const files = (process.env['MOORAGE_TEST_FILES'] ?? '').split('\n')
for (const file of files) await import(pathToFileURL(file).href)

// What a test leaves open would hold the run forever; say what it is and fail instead.
after(() => {
  setTimeout(() => {
    console.error(`left open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, GRACE_MS).unref()
})
