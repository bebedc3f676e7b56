/** The digits of ids, as in `src/lib/id.ts`. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_DIGITS = 10
/** Ends of ids look random to an index: neighbours have nothing in common. Both products fit into 64 bits. */
const SPREAD = [
  { factor: 2_654_435_761n, digits: 6 },
  { factor: 2_246_822_519n, digits: 7 },
]
const WRAP = 2n ** 35n

/** The id of row number `i`, made at `time`: as real ids, it begins with its time and ends at random. */
export function realId(i: number, time: number): string {
  const ends = SPREAD.map(({ factor, digits }) => inDigits((BigInt(i) * factor) % WRAP, digits))
  return `req_${inDigits(BigInt(time), TIME_DIGITS)}000${ends.join('')}`
}

/** The same as SQL for both engines; `i` and `time` are expressions. */
export function realIdSql(i: string, time: string): string {
  const ends = SPREAD.map(({ factor, digits }) => sqlDigits(`((${i}) * ${factor}) % ${WRAP}`, digits))
  return `'req_' || ${sqlDigits(time, TIME_DIGITS)} || '000' || ${ends.join(' || ')}`
}

function inDigits(number: bigint, count: number): string {
  return Array.from({ length: count }, (_, k) => DIGITS[Number((number >> BigInt(5 * (count - 1 - k))) & 31n)]).join('')
}

function sqlDigits(number: string, count: number): string {
  const digit = (k: number) =>
    `substr('${DIGITS}', cast((((${number}) >> ${5 * (count - 1 - k)}) & 31) + 1 as integer), 1)`
  return Array.from({ length: count }, (_, k) => digit(k)).join(' || ')
}
