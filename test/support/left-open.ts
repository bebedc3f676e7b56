// Comes after the files of every process that runs tests.
import { after } from 'node:test'

const GRACE_MS = 5_000

// What a test leaves open would hold the run forever; say what it is and fail instead.
after(() => {
  setTimeout(() => {
    console.error(`left open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, GRACE_MS).unref()
})
