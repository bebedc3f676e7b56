import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createLog } from '../../../src/lib/log.ts'
import { openJobs } from '../../../src/storage/jobs/run-jobs.ts'
import { openStorage, type StorageOptions } from '../../../src/storage/open-storage.ts'
import { childEnv, startChild } from './child.ts'

type Task = { kind: string; lease_ms: number }

/** A process that takes a job of this kind and never ends it. Resolves once it has the job. */
export async function startJobChild(options: StorageOptions, task: Task): Promise<ChildProcess> {
  const child = startChild(process.execPath, [import.meta.filename, JSON.stringify({ options, task })], {
    env: childEnv(),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return child
}

if (process.argv[1] === import.meta.filename) {
  const { options, task } = JSON.parse(process.argv[2] as string) as { options: StorageOptions; task: Task }
  const run = () => new Promise<void>(() => process.send?.('running'))
  openJobs(
    {
      storage: await openStorage(options),
      now: Date.now,
      log: createLog({ level: 'silent', format: 'json' }),
      node: 'service:child',
      lease_ms: task.lease_ms,
    },
    { [task.kind]: { run } },
  )
}
