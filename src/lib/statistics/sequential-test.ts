/** How many answers each side gave, and how many of them failed. */
export type Trials = { answers: number; failures: number }

/** How many times higher the candidate's odds of failing may be, and the weight of each. The weights add up to 1. */
const ALTERNATIVES = [
  { times: 1.25, weight: 0.1 },
  { times: 2, weight: 0.225 },
  { times: 4, weight: 0.225 },
  { times: 8, weight: 0.225 },
  { times: 16, weight: 0.225 },
] as const

/** A smaller block says little about both sides at the same time. */
const MIN_OF_BLOCK = 5

/** The logarithm of the evidence for each alternative, that is, of its likelihood ratio. */
export type FailureTest = readonly number[]

export const NO_EVIDENCE: FailureTest = ALTERNATIVES.map(() => 0)

/** Whether a block has enough answers. It depends only on their number, never on how many failed. */
export function isWholeBlock(candidate: Trials, serving: Trials): boolean {
  return candidate.answers >= MIN_OF_BLOCK && serving.answers >= MIN_OF_BLOCK
}

/**
 * Adds a block of answers from the same time. Given how many answers of the block failed, it's compared how many of
 * them are the candidate's. So it doesn't matter how often both fail, for example because their provider is down.
 * `tolerated` is the ratio of the odds that isn't worse yet.
 */
export function addBlock(test: FailureTest, candidate: Trials, serving: Trials, tolerated: number): FailureTest {
  const failures = candidate.failures + serving.failures
  const lowest = Math.max(0, failures - serving.answers)
  const highest = Math.min(candidate.answers, failures)
  if (lowest === highest) return test
  // The logarithms of the hypergeometric weights: in how many ways that number of failures can be the candidate's.
  const weights = [0]
  for (let k = lowest; k < highest; k++) {
    const more = ((candidate.answers - k) * (failures - k)) / ((k + 1) * (serving.answers - failures + k + 1))
    weights.push((weights.at(-1) as number) + Math.log(more))
  }
  const logProbability = (ratio: number) => {
    const tilted = weights.map((weight, i) => weight + i * Math.log(ratio))
    return (tilted[candidate.failures - lowest] as number) - logSum(tilted)
  }
  const ofNull = logProbability(tolerated)
  return test.map((evidence, i) => evidence + logProbability(tolerated * (ALTERNATIVES[i]?.times ?? 1)) - ofNull)
}

/**
 * The evidence that the candidate fails more often: if it doesn't, the evidence reaches `x` with a probability of at
 * most `1 / x`, however often it's looked at (Ville's inequality).
 */
export function evidenceOf(test: FailureTest): number {
  return Math.exp(logSum(test.map((evidence, i) => evidence + Math.log(ALTERNATIVES[i]?.weight ?? 0))))
}

/** The number of values, their sum, and the sum of their squares. */
export type Moments = { count: number; sum: number; squares: number }

/**
 * Whether the candidate's mean is more than `ratio` times the other mean, at any time and with this confidence. The
 * bound is Robbins' normal mixture, which is widest at the beginning and tightest around `typical` values.
 */
export function exceedsRatio(
  candidate: Moments,
  serving: Moments,
  { ratio, confidence, typical }: { ratio: number; confidence: number; typical: number },
): boolean {
  const count = Math.min(candidate.count, serving.count)
  if (count < 2) return false
  const excess = mean(candidate) - ratio * mean(serving)
  const deviation = Math.sqrt(variance(candidate) / candidate.count + ratio ** 2 * (variance(serving) / serving.count))
  return excess > boundOf(count, typical, confidence) * deviation
}

/** How many standard deviations a mean is from its estimate at most, at any time and with this confidence. */
function boundOf(count: number, typical: number, confidence: number): number {
  return Math.sqrt((1 + typical / count) * Math.log((1 + count / typical) / (1 - confidence) ** 2))
}

/** The bound is tightest around this number of scores. */
const TYPICAL_SCORES = 20

/** Whether the candidate's scores, from -1 to 1, average less than the limit and less than the others, at any time. */
export function scoresBelow(candidate: Moments, serving: Moments, limit: number, confidence: number): boolean {
  const count = Math.min(candidate.count, serving.count)
  if (count === 0) return false
  const error = scoreVariance(candidate) / candidate.count
  const errorOfBoth = error + scoreVariance(serving) / serving.count
  const isLow = limit - mean(candidate) > boundOf(candidate.count, TYPICAL_SCORES, confidence) * Math.sqrt(error)
  const isLower = mean(serving) - mean(candidate) > boundOf(count, TYPICAL_SCORES, confidence) * Math.sqrt(errorOfBoth)
  return isLow && isLower
}

/** As if both extremes had been given once more: a few equal scores don't prove that all scores are equal. */
function scoreVariance({ count, sum, squares }: Moments): number {
  return variance({ count: count + 2, sum, squares: squares + 2 })
}

export function mean({ count, sum }: Moments): number {
  return sum / count
}

function variance({ count, sum, squares }: Moments): number {
  return Math.max(0, (squares - sum ** 2 / count) / (count - 1))
}

/** The logarithm of the sum of what the values are logarithms of. */
function logSum(values: readonly number[]): number {
  const highest = values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
  return highest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - highest), 0))
}
