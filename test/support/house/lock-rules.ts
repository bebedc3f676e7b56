import type { SourceFile } from './imports.ts'

/** From the beginning of a statement to the end of what locks its rows. */
const LOCKING =
  /(?:selectFrom\(|`)(?:(?!selectFrom\(|`)[\s\S])*?(?:forUpdate\(\)|for update\b)(?!\.skipLocked| skip| of \w+ skip)/g
const ONE_ROW = /', '=', |isUnchanged\(/
const IN_ORDER = /orderBy\(|order by/

/**
 * Statements that wait for locks and say neither which row they lock, nor in which order. Two transactions that lock the
 * same rows in different orders would wait for each other.
 */
export function unorderedLocks(sources: readonly Pick<SourceFile, 'file' | 'text'>[]): string[] {
  return sources.flatMap(({ file, text }) =>
    Array.from(text.matchAll(LOCKING))
      .filter(([statement]) => /select/.test(statement) && !ONE_ROW.test(statement) && !IN_ORDER.test(statement))
      .map(([statement]) => `${file}: ${statement.replaceAll(/\s+/g, ' ')}`),
  )
}
