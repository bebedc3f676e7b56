import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Client, Replay, ReplayCase } from '../../../../sdk/client.ts'
import { AGENT_FILE, count, number, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { note, print, printJson, success, warn } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { toldInJunit, toldInMarkdown } from './told-replay.ts'

type FailOn = 'regression' | 'inconclusive' | 'never'

type ReplayOptions = Common & {
  agent?: string
  file: string
  set?: string
  last?: number
  version?: string
  recorded?: boolean
  contains?: string[]
  judge?: string[]
  maxCost?: number
  maxTokens?: number
  failOn: FailOn
  minPass?: number
  markdown?: string
  junit?: string
}

type CreateReplay = Parameters<Client['replays']['create']>[1]

const LOOK_MS = 500

function share(text: string): number {
  const value = number(text)
  if (value < 0 || value > 1) throw new InvalidArgumentError('It must be a number from 0 to 1.')
  return value
}

/** Starts a replay, waits for it, and ends with an exit code for CI. */
export function replay(command: Command, world: World): void {
  takesService(command)
    .option('-a, --agent <agent>', 'ID or name (default: the agent of the agent file, whose draft is updated first)')
    .option('-f, --file <file>', 'the agent file', AGENT_FILE)
    .option('-s, --set <name>', 'the set whose cases are sent; with the agent file, sets/<name>.yaml is saved first')
    .addOption(new Option('--last <count>', 'the last invocations instead of a set').argParser(count))
    .option('--version <label>', 'the version to test (default: the draft)')
    .option('--recorded', 'compare with the recorded answers, not with the deployed version')
    .option('--contains <text...>', 'every answer must contain these texts')
    .option('--judge <criterion...>', 'what a model must confirm for every answer, such as: The answer is polite')
    .addOption(new Option('--max-cost <usd>', 'the most that the replay can cost').argParser(number))
    .addOption(new Option('--max-tokens <count>', 'the most tokens that it can use').argParser(count))
    .addOption(
      new Option('--fail-on <verdict>', 'exit with 1 for this verdict or a worse one')
        .choices(['regression', 'inconclusive', 'never'])
        .default('regression'),
    )
    .addOption(
      new Option('--min-pass <share>', 'exit with 1 if a smaller share of the cases passes, from 0 to 1').argParser(
        share,
      ),
    )
    .option('--markdown <file>', 'write the report as Markdown; - prints it')
    .option('--junit <file>', 'write the cases as JUnit XML')
    .action(async (options: ReplayOptions) => {
      const body = bodyOf(options)
      const { ended, cases } = await withClient(world, options, async (client) => {
        const folder = options.agent === undefined ? await saveFolder(world, client, options) : undefined
        const agent = options.agent ?? folder?.agent ?? ''
        const begun = await client.replays.create(agent, body)
        const { id } = begun
        if (folder && !isOfFolder(begun, folder)) {
          await client.replays.cancel(agent, id)
          throw new Failure(EXIT.failed, `Another client has changed ${agent} or the set in the meantime. Try again.`)
        }
        note(world, `Replay ${id}`, 'dim')
        const replayed = await untilEnded(world, client, agent, id)
        return { ended: replayed, cases: await casesOf(client, agent, options, replayed) }
      })
      await tell(world, ended, cases, options)
      const problem = problemOf(ended, options)
      if (problem) throw new Failure(EXIT.failed, problem)
      const { verdict, report } = ended
      if (verdict === 'passed') success(world, `passed: ${report?.reason}`)
      else warn(world, `${verdict}: ${report?.reason}`)
    })
}

function bodyOf(options: ReplayOptions): CreateReplay {
  const { set, last, version, recorded, contains = [], judge = [], maxCost, maxTokens } = options
  if ((set === undefined) === (last === undefined)) throw usage('Specify either --set or --last.')
  return {
    ...(version === undefined ? { working_copy: true } : { version }),
    ...(set === undefined ? { filter: {}, last } : { set }),
    ...(recorded && { baseline: 'recorded' as const }),
    checks: [
      ...contains.map((value) => ({ type: 'contains' as const, value })),
      ...judge.map((value) => ({ type: 'judge' as const, value })),
    ],
    limits: { cost_usd: maxCost ?? null, tokens: maxTokens ?? null },
  }
}

/** What the files of a folder describe. The digests are undefined for what has no file, and for a version. */
type SavedFolder = { agent: string; digest: string | undefined; set_digest: string | undefined }

/** Makes the draft of the folder's agent, and the set, equal to the folder's files. */
async function saveFolder(world: World, client: Client, { file, set, version }: ReplayOptions): Promise<SavedFolder> {
  const { readAgentFile } = await import('../agents/agent-file.ts')
  const { findAgent } = await import('../../connect/known-names.ts')
  const described = readAgentFile(world, file)
  const existing = await findAgent(client, described.body.name)
  // A version is tested as it is, so the draft stays as it is.
  if (version === undefined || !existing) {
    const { updateDraft } = await import('../agents/deploy.ts')
    await updateDraft(world, client, described, existing, { changesAccess: false })
  }
  const { name: agent } = described.body
  const { digestOf } = await import('../../../agents/definition.ts')
  const { saveSetOfFolder } = await import('./set-file.ts')
  return {
    agent,
    digest: version === undefined ? digestOf(described.body) : undefined,
    set_digest: set === undefined ? undefined : await saveSetOfFolder(world, client, agent, set),
  }
}

/** Whether a replay tests the folder's files. Another client could have replaced them on the service. */
function isOfFolder({ digest, set }: Replay, folder: SavedFolder): boolean {
  const isSameAgent = folder.digest === undefined || folder.digest === digest
  return isSameAgent && (folder.set_digest === undefined || folder.set_digest === set?.digest)
}

async function untilEnded(world: World, client: Client, agent: string, id: string): Promise<Replay> {
  let waited: string | null = null
  for (;;) {
    const found = await client.replays.get(agent, id)
    if (found.status !== 'running') return found
    if (found.waits_for !== null && found.waits_for !== waited) note(world, `Waiting: ${found.waits_for}`)
    waited = found.waits_for
    await sleep(LOOK_MS, undefined, { signal: world.signal })
  }
}

async function casesOf(client: Client, agent: string, { markdown, junit }: ReplayOptions, { id }: Replay) {
  const cases: ReplayCase[] = []
  if (markdown === undefined && junit === undefined) return cases
  for await (const one of client.replays.cases(agent, id, { limit: 100 })) cases.push(one)
  return cases
}

async function tell(world: World, ended: Replay, cases: readonly ReplayCase[], options: ReplayOptions): Promise<void> {
  const { json, markdown, junit } = options
  if (json) printJson(world, ended)
  if (markdown === '-') print(world, toldInMarkdown(ended, cases))
  else if (markdown !== undefined) await writeFile(resolve(world.cwd, markdown), toldInMarkdown(ended, cases))
  if (junit !== undefined) await writeFile(resolve(world.cwd, junit), toldInJunit(ended, cases))
}

/** Why the command fails, or undefined. */
function problemOf(ended: Replay, { failOn, minPass }: ReplayOptions): string | undefined {
  const { verdict, report, status } = ended
  if (!verdict || !report) return `The replay is ${status}.`
  const told = `${verdict}: ${report.reason}`
  const isBad = verdict === 'regression' || (verdict === 'inconclusive' && failOn === 'inconclusive')
  if (failOn !== 'never' && isBad) return told
  const { passed, failed, unknown } = report.columns.candidate
  const passing = passed / Math.max(1, passed + failed + unknown)
  if (minPass !== undefined && passing < minPass) {
    return `${passed} of ${passed + failed + unknown} cases passed, fewer than --min-pass ${minPass}. ${told}`
  }
  return undefined
}
