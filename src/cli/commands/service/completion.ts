import type { Command } from 'commander'
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
}

const INSTALL: Record<string, string> = {
  bash: 'moorage completion bash >> ~/.bashrc',
  zsh: 'moorage completion zsh > "${fpath[1]}/_moorage"',
  fish: 'moorage completion fish > ~/.config/fish/completions/moorage.fish',
}

export function completion(command: Command, world: World): void {
  const install = Object.values(INSTALL).map((line) => `  ${line}`)
  command
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', `\nInstall it with:\n${install.join('\n')}`)
    .action((shell: string) => {
      const script = SCRIPTS[shell]
      if (!script) throw usage(`There is completion for ${Object.keys(SCRIPTS).join(', ')}, not for "${shell}"`)
      print(world, script)
    })
}

/** What may stand at the place of the last word. */
export function candidates(program: Command, words: readonly string[]): string[] {
  const last = words.at(-1) ?? ''
  let command = program
  for (const word of words.slice(0, -1)) {
    command = command.commands.find((child) => child.name() === word || child.aliases().includes(word)) ?? command
  }
  const visible = command.createHelp()
  const possible = last.startsWith('-')
    ? visible.visibleOptions(command).map(({ long, short }) => long ?? short ?? '')
    : visible.visibleCommands(command).map((child) => child.name())
  return possible.filter((candidate) => candidate.startsWith(last))
}
