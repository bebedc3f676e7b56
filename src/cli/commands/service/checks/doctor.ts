import type { Command } from 'commander'
import { configOption, dataOption, takesService } from '../../../command.ts'
import type { Common } from '../../../connect/connect.ts'
import { EXIT, Failure } from '../../../failure.ts'
import { paint, printJson, printPainted, shown } from '../../../terminal/output.ts'
import type { World } from '../../../world.ts'
import type { Finding } from './examine.ts'

const MARKS = { ok: ['green', '✔'], warning: ['yellow', '!'], failed: ['red', '✖'] } as const

export function doctor(command: Command, world: World): void {
  takesService(command)
    .addOption(configOption())
    .addOption(dataOption())
    .action(async (options: Common) => {
      const { examine } = await import('./examine.ts')
      const findings: Finding[] = []
      for await (const finding of examine(world, options)) {
        findings.push(finding)
        if (options.json) continue
        const [color, mark] = MARKS[finding.status]
        const detail = shown(world, 'stdout', finding.detail)
        printPainted(world, `${paint(world, 'stdout', color, mark)} ${finding.check.padEnd(15)} ${detail}`)
      }
      if (options.json) printJson(world, findings)
      const failed = findings.filter(({ status }) => status === 'failed')
      if (failed.length > 0) {
        throw new Failure(EXIT.failed, `${failed.length} of ${findings.length} checks failed`)
      }
    })
}
