import type { Plan } from './plan.ts'
import { type Postings, roleNumber } from './postings.ts'
import { LENGTH_PRIOR, OTHER_ROLE, OTHER_SPEAKER, TIME_WORD } from './weights.ts'

/** The factor for each length. Computing a logarithm for each memory would take longer than the rest of the scoring. */
const LENGTH_PRIORS = Float64Array.from({ length: 65_536 }, (_, length) => 1 + LENGTH_PRIOR * Math.log1p(length))

/**
 * Multiplies the sums of the first `found` memories by factors for their length, their speaker and the kind of
 * question.
 */
export function applyFactors(
  postings: Postings,
  { names, asksWhen, saidBy }: Plan,
  { memories, found, sums }: { memories: Int32Array; found: number; sums: Float64Array },
): void {
  const { speakers, lengths, roles, timely } = postings
  const otherRole = saidBy && roleNumber(saidBy === 'user' ? 'assistant' : 'user')
  const named = names.length === 0 ? [] : postings.speakersNamed(names)
  // A query with two speakers asks about neither of them. It may also name a speaker who has no memory here.
  const isSpeakerAsked = names.length > 0 && named.length < 2
  for (let i = 0; i < found; i++) {
    const memory = memories[i] as number
    let sum = (sums[memory] as number) * (LENGTH_PRIORS[lengths[memory] as number] as number)
    const hasSpeaker = (speakers[memory] as number) >= 0
    if (isSpeakerAsked && hasSpeaker && speakers[memory] !== named[0]) sum *= OTHER_SPEAKER
    if (!hasSpeaker && roles[memory] === otherRole) sum *= OTHER_ROLE
    if (asksWhen && timely[memory] === 1) sum *= TIME_WORD
    sums[memory] = sum
  }
}
