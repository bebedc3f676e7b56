// A node in a process of its own, which a script can kill. This file is that process, too.
import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { storageOf } from '../support/inside.ts'
import { ALL_RULES } from '../support/invariants/watch-invariants.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import { type Engine, type Service, type Settings, startService } from '../support/service/service.ts'
import { passOn } from './pass-on.ts'

/** The process dies when it commits for the `commit`th time from now on: before it is done, or right after. */
export type DeathAtCommit = { commit: number; isDone: boolean }

type Order =
  | { do: 'start'; engine: Engine; settings: Settings; held: number | undefined }
  | { do: 'pass'; ms: number }
  | { do: 'die'; at: DeathAtCommit }
  | { do: 'restart' }
  | { do: 'stop' }

type Outcome = { url?: string; error?: string }

export type MortalNode = {
  url(): string
  /** Starts it on its store, also after it was killed. */
  start(held: number | undefined): Promise<void>
  pass(ms: number): Promise<void>
  dieAt(at: DeathAtCommit): Promise<void>
  restart(): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  /** Resolves when the process is gone. */
  gone(): Promise<void>
  stop(): Promise<void>
}

export function mortalNode(engine: Engine, settings: Settings): MortalNode {
  let child: ChildProcess | undefined
  let ended: Promise<void> = Promise.resolve()
  let url = ''
  const obey = async (order: Order): Promise<void> => {
    child?.send(order)
    const answered = child && once(child, 'message')
    const [outcome] = (await Promise.race([answered, ended.then(() => [{ error: 'the node has died' }])])) as [Outcome]
    if (outcome.error !== undefined) throw new Error(outcome.error)
    url = outcome.url ?? url
  }
  const kill = async () => {
    child?.kill('SIGKILL')
    await ended
  }
  return {
    url: () => url,
    async start(held) {
      const { [ALL_RULES]: rules, MOORAGE_TEST_FOLDER, TMPDIR } = process.env
      const env = { ...childEnv(), [ALL_RULES]: rules, MOORAGE_TEST_FOLDER, TMPDIR }
      child = startChild(process.execPath, [import.meta.filename], {
        env,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      ended = once(child, 'exit').then(() => {})
      await obey({ do: 'start', engine, settings, held })
    },
    pass: (ms) => obey({ do: 'pass', ms }),
    dieAt: (at) => obey({ do: 'die', at }),
    restart: () => obey({ do: 'restart' }),
    kill,
    gone: () => ended,
    async stop() {
      await obey({ do: 'stop' }).finally(kill)
    },
  }
}

/** The n-th commit from now on is the last: of a transaction, or of the journal. */
function dieAt(service: Service, { commit, isDone }: DeathAtCommit): void {
  const storage = storageOf(service)
  const { transaction, write } = storage
  const die = () => process.kill(process.pid, 'SIGKILL')
  let left = commit
  storage.transaction = async (work) => {
    const isLast = --left === 0
    const result = await transaction(async (db) => {
      const done = await work(db)
      if (isLast && !isDone) die()
      return done
    })
    if (isLast) die()
    return result
  }
  storage.write = async (entry) => {
    const isLast = --left === 0
    if (isLast && !isDone) die()
    const written = await write(entry)
    if (isLast) die()
    return written
  }
}

if (process.argv[1] === import.meta.filename) {
  let service: Service | undefined
  const carryOut = async (order: Order): Promise<Outcome> => {
    if (order.do === 'start') {
      service = await startService(order.engine, order.settings, {}, {}, order.held)
      return { url: service.url }
    }
    if (!service) return { error: 'there is no service yet' }
    if (order.do === 'pass') await passOn(service, order.ms)
    if (order.do === 'die') dieAt(service, order.at)
    if (order.do === 'restart') await service.restart()
    if (order.do === 'stop') await service.stop()
    return { url: service.url }
  }
  process.on('message', async (order: Order) => {
    process.send?.(await carryOut(order).catch((error: Error) => ({ error: error.stack ?? error.message })))
  })
  process.on('disconnect', () => process.exit(1))
}
