const NAMES = ['Ada', 'Nightingale', 'Captain Brandt', 'the pilot', 'Mara', 'the harbour master', 'Jon', 'my sister']
const DEEDS = [
  'left from',
  'sailed to',
  'waited at',
  'repaired the rudder in',
  'bought rope in',
  'dreamt of',
  'asked about',
]
const PLACES = [
  'Bergen',
  'the old harbour',
  'Lisbon',
  'pier seven',
  'the lighthouse',
  'Rotterdam',
  'the north quay',
  'Cork',
]
const WHENS = [
  'on Tuesday',
  'last spring',
  'before the storm',
  'after lunch',
  'in May',
  'with the ferry',
  'at dawn',
  'twice',
]

/** Makes different sentences from a few hundred words, like those of long conversations. */
export function sentence(i: number): string {
  const pick = (words: readonly string[], step: number) => words[Math.floor(i / step) % words.length]
  return `${pick(NAMES, 1)} ${pick(DEEDS, 3)} ${pick(PLACES, 7)} ${pick(WHENS, 11)}, entry ${i % 9973} of log ${i % 311}`
}
