import diagnostics from 'node:diagnostics_channel'
import type { Worker } from 'node:worker_threads'

// Loaded before a service, so that SIGUSR2 ends the first thread that it started.
const workers: Worker[] = []
diagnostics.subscribe('worker_threads', (message) => workers.push((message as { worker: Worker }).worker))
process.on('SIGUSR2', () => workers[0]?.terminate())
