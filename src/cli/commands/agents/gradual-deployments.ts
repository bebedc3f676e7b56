import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Client, Deployment } from '../../../../sdk/client.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import { note, printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

export type RolloutSteps = { percent: number; minutes: number }[]

/** `10:30,50:60` means 10 % for 30 minutes, then 50 % for an hour, and then all messages. */
function readSteps(text: string): RolloutSteps {
  return text.split(',').map((step) => {
    const [, percent, minutes] = /^\s*([\d.]+)\s*:\s*([\d.]+)\s*$/.exec(step) ?? []
    if (percent === undefined) throw new InvalidArgumentError('Use percent:minutes, such as 10:30,50:60.')
    return { percent: Number(percent), minutes: Number(minutes) }
  })
}

export function stepsOption(): Option {
  return new Option('--steps <percent:minutes,...>', 'deploy gradually, such as 10:30,50:60').argParser<RolloutSteps>(
    readSteps,
  )
}

/** What an environment serves after a deployment was made or changed. */
export function toldDeployment({ environment, version, id, status, progress }: Deployment, agent?: string): string {
  const what = agent === undefined ? version : `${version} of ${agent}`
  if (status !== 'rolling_out') return `${environment} serves ${what} (${id})`
  if (progress?.waits_for === 'replay') return `${what} is served in ${environment} once its replay has passed (${id})`
  return `${environment} serves ${what} for ${progress?.percent} % of the messages (${id})`
}

const LOOK_MS = 1_000

type WatchOptions = Common & { environment: string }

/** Prints each change of a gradual deployment. Exit code 1 if it's aborted. */
export function watch(command: Command, world: World): void {
  takesService(command)
    .argument('<agent>', 'ID or name')
    .argument('[deployment_id]', 'default: the one in progress')
    .option('-e, --environment <name>', 'the environment', 'production')
    .action(async (agent: string, id: string | undefined, options: WatchOptions) => {
      const ended = await withClient(world, options, async (client) => {
        const deployment_id = id ?? (await inProgress(client, agent, options.environment))
        return untilEnded(world, client, agent, deployment_id)
      })
      if (options.json) printJson(world, ended)
      const { status, evidence } = ended
      if (status === 'aborted') {
        throw new Failure(EXIT.failed, `${ended.id} was aborted. ${evidence?.reason ?? ''}`.trim())
      }
      success(world, toldDeployment(ended))
    })
}

async function inProgress(client: Client, agent: string, environment: string): Promise<string> {
  for (const status of ['rolling_out', 'paused'] as const) {
    const { data } = await client.deployments.list(agent, { environment, status, limit: 1 })
    if (data[0]) return data[0].id
  }
  throw new Failure(EXIT.notFound, `No deployment to ${environment} is in progress.`)
}

async function untilEnded(world: World, client: Client, agent: string, id: string): Promise<Deployment> {
  let before = ''
  for (;;) {
    const found = await client.deployments.get(agent, id)
    if (found.status !== 'rolling_out' && found.status !== 'paused') return found
    const line = lineOf(found)
    if (line !== before) note(world, line)
    before = line
    await sleep(LOOK_MS, undefined, { signal: world.signal })
  }
}

function lineOf({ status, version, strategy, progress, evidence }: Deployment): string {
  if (!progress) return status
  const { step, percent, waits_for, candidate, serving } = progress
  if (step === 0) return `${version} waits for its replay ${progress.replay_id ?? ''}`.trim()
  const sides = [candidate, serving].map((side) => `${side?.failures ?? 0} of ${side?.answers ?? 0} failed`)
  const compared = `${version}: ${sides[0]}; the other version: ${sides[1]}`
  const why = status === 'paused' ? `paused${evidence ? `: ${evidence.reason}` : ''}` : `waits for ${waits_for}`
  return `Step ${step} of ${strategy?.steps.length}, ${percent} %, ${why}. ${compared}`
}
