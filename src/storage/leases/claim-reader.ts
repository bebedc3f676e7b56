import type { Database } from '../database.ts'
import { type ClaimKey, type FoundClaim, findMany, idOf } from './claims.ts'

type Batch = { keys: ClaimKey[]; found: Promise<Map<string, FoundClaim>> }

/** Looks up claims. What all callers ask in one pass of the event loop is read with one query. */
export class ClaimReader {
  readonly #db: Database
  #open: Batch | undefined

  constructor(db: Database) {
    this.#db = db
  }

  async find(asked: ClaimKey): Promise<FoundClaim | undefined> {
    const batch = (this.#open ??= this.#begin())
    batch.keys.push(asked)
    return (await batch.found).get(idOf(asked))
  }

  #begin(): Batch {
    const keys: ClaimKey[] = []
    const found = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
      this.#open = undefined
      return new Map((await findMany(this.#db, keys)).map((claim) => [idOf(claim), claim]))
    })
    return { keys, found }
  }
}
