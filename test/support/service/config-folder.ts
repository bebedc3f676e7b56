import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { ConfigError, type Flags, type LoadedConfig, loadConfig } from '../../../src/config.ts'

export type ConfigFolder = {
  path: string
  load(env?: Record<string, string>, flags?: Flags): LoadedConfig
  /** The problems of a configuration that must not load. */
  problems(env?: Record<string, string>, flags?: Flags): string[]
}

/** A working directory with these files. It is removed after the test. */
export function configFolder(t: TestContext, files: Record<string, string> = {}): ConfigFolder {
  const path = mkdtempSync(join(tmpdir(), 'moorage-config-'))
  t.after(() => rmSync(path, { recursive: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), content)
  }
  const load = (env: Record<string, string> = {}, flags: Flags = {}) => loadConfig({ env, flags, cwd: path })
  return {
    path,
    load,
    problems(env, flags) {
      try {
        load(env, flags)
      } catch (error) {
        if (error instanceof ConfigError) return error.problems
        throw error
      }
      throw new Error('the configuration was accepted')
    },
  }
}
