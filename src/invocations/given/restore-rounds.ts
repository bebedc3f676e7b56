import type { Given, GivenRound } from '../../runtime/given.ts'
import type { Round } from '../../runtime/models/model.ts'
import type { Invocation } from '../invocation.ts'

/**
 * The invocations to which the caller's calls and `previous` refer. In consecutive rounds, the last invocation that
 * handed over calls is enough, because it has stored the rounds before it.
 */
export function idsIn({ history = [], rounds = [], previous }: Given): string[] {
  const ids = [rounds, ...history.map((turn) => turn.rounds ?? [])].flatMap((list) => {
    return list[lastHanded(list)]?.calls.flatMap(({ of }) => of?.request_id ?? []) ?? []
  })
  ids.push(...history.flatMap(({ of }) => of ?? []))
  return [...new Set(previous === undefined ? ids : [...ids, previous])]
}

/** The position of the last round handed over by an earlier invocation, or -1. */
export function lastHanded(rounds: readonly GivenRound[]): number {
  return rounds.findLastIndex(({ calls }) => calls.some(({ of }) => of))
}

/** Replaces all rounds that the caller gave. */
export function withRounds(
  { history, rounds }: Given,
  replace: (rounds: readonly GivenRound[]) => GivenRound[],
): Pick<Given, 'history' | 'rounds'> {
  const turns = history?.map((turn) => (turn.rounds ? { ...turn, rounds: replace(turn.rounds) } : turn))
  return { ...(turns && { history: turns }), ...(rounds && { rounds: replace(rounds) }) }
}

/**
 * The rounds as the model knows them. An invocation that handed a call to its caller has stored everything before that
 * call, including the results of the agent's own tools; the caller sends the rest.
 */
export function restoreRounds(rounds: readonly GivenRound[], earlier: ReadonlyMap<string, Invocation>): Round[] {
  let restored: Round[] = []
  for (const round of rounds) {
    const of = round.calls.find((call) => call.of)?.of
    const kept = of && earlier.get(of.request_id)?.rounds
    const last = kept?.at(-1)
    restored = kept && last ? [...kept.slice(0, -1), withResults(last, round)] : [...restored, round]
  }
  return restored
}

function withResults(last: Round, { calls, results: told }: GivenRound): Round {
  const results = last.calls.map((_call, index) => last.results[index] ?? null)
  for (const [i, { of }] of calls.entries()) if (of && results[of.index] === null) results[of.index] = told[i] ?? null
  return { ...last, results }
}
