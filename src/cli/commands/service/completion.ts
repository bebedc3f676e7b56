import type { Command, Option } from 'commander'
import { createClient } from '../../../../sdk/client.ts'
import { addressOf } from '../../connect/service-address.ts'
import { usage } from '../../failure.ts'
import { print } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SCRIPTS: Record<string, string> = {
  bash: `_moorage() {
  COMPREPLY=($(compgen -W "$(moorage __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _moorage moorage`,
  zsh: `#compdef moorage
_moorage() {
  local -a candidates
  candidates=(\${(f)"$(moorage __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a candidates || _files
}
compdef _moorage moorage`,
  fish: `complete -c moorage -f -a '(moorage __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
  // Windows PowerShell drops an empty argument and passes `""` as one. PowerShell 7.3 passes the two characters.
  powershell: `Register-ArgumentCompleter -Native -CommandName moorage -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += '""' }
  moorage __complete @words 2>$null | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}`,
}

const INSTALL: Record<string, string> = {
  bash: 'moorage completion bash >> ~/.bashrc',
  zsh: 'moorage completion zsh > "${fpath[1]}/_moorage"',
  fish: 'moorage completion fish > ~/.config/fish/completions/moorage.fish',
  powershell: 'moorage completion powershell >> $PROFILE',
}

export function completion(command: Command, world: World): void {
  const install = Object.values(INSTALL).map((line) => `  ${line}`)
  command
    .argument('<shell>', 'bash, zsh, fish or powershell')
    .addHelpText('after', `\nInstall it with:\n${install.join('\n')}`)
    .action((shell: string) => {
      const script = SCRIPTS[shell]
      if (!script) throw usage(`Unknown shell "${shell}". Choose one of ${Object.keys(SCRIPTS).join(', ')}.`)
      print(world, script)
    })
}

/** The candidates for the last word. The service is asked for `agents` only where an agent's name is expected. */
export async function candidates(
  program: Command,
  words: readonly string[],
  agents: () => Promise<string[]>,
): Promise<string[]> {
  const last = words.at(-1)?.replace(/^""$/, '') ?? ''
  const { command, given } = commandAt(program, words.slice(0, -1))
  const option = optionAwaiting(command, words.at(-2))
  if (option?.argChoices) return option.argChoices.filter((choice) => choice.startsWith(last))
  const expected = option ? valueOf(option) : last.startsWith('-') ? undefined : argumentAt(command, given)
  if (expected === 'agent') return (await agents()).filter((name) => name.startsWith(last))
  const visible = command.createHelp()
  const possible = last.startsWith('-')
    ? visible.visibleOptions(command).map(({ long, short }) => long ?? short ?? '')
    : visible.visibleCommands(command).map((child) => child.name())
  return possible.filter((candidate) => candidate.startsWith(last))
}

/** The command that the words name, and how many of its arguments they contain. */
function commandAt(program: Command, words: readonly string[]): { command: Command; given: number } {
  let command = program
  let given = 0
  for (const [index, word] of words.entries()) {
    const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (child) command = child
    else if (!word.startsWith('-') && optionAwaiting(command, words[index - 1]) === undefined) given += 1
  }
  return { command, given }
}

/** The option that the previous word names, if it needs a value. */
function optionAwaiting(command: Command, word: string | undefined): Option | undefined {
  return command.options.find(({ long, short, required }) => required && word && (word === long || word === short))
}

function valueOf({ flags }: Option): string | undefined {
  return /<([\w-]+)/.exec(flags)?.[1]
}

function argumentAt(command: Command, given: number): string | undefined {
  return command.registeredArguments[given]?.name()
}

/**
 * Only such names are printed, because bash expands its candidates, and a service could name an agent `$(rm -rf ~)`.
 */
const AGENT_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/
const MAX_NAMES = 1_000
const PATIENCE_MS = 2_000

/** The agents' names. People don't want to wait long after pressing Tab, or to see the service's errors there. */
export async function knownAgents(world: World, words: readonly string[]): Promise<string[]> {
  const names: string[] = []
  try {
    const { url, key } = addressOf(world, { ...flag(words, 'url'), ...flag(words, 'profile') })
    if (key === undefined) return names
    const client = createClient({ url, key, retries: 0, signal: AbortSignal.timeout(PATIENCE_MS) })
    for await (const { name } of client.agents.list({ limit: 100, sort: 'name' })) {
      if (AGENT_NAME.test(name)) names.push(name)
      if (names.length >= MAX_NAMES) break
    }
  } catch {
    // The names that have arrived so far are enough.
  }
  return names
}

function flag(words: readonly string[], name: 'url' | 'profile'): Record<string, string> {
  const at = words.indexOf(`--${name}`)
  const value = at < 0 ? undefined : words[at + 1]
  return value === undefined ? {} : { [name]: value }
}
