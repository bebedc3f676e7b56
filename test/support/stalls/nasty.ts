/** The approximate limit of a body. The rest is for what surrounds the nasty value. */
const SIZE = 1_048_576 - 16 * 1024
/** How many elements a list has: as many as fit, and numbers near common limits. */
const LENGTHS = [Number.POSITIVE_INFINITY, 9_999, 1_999, 999, 127]

/** Its JSON is built when it is sent. */
export type Nasty = { name: string; json(): string }

/** Values to put in the place of another. `sample` is a value that belongs there, and `element` one of its elements. */
export function* nastyValues(sample: unknown, element: unknown): Generator<Nasty> {
  for (const length of LENGTHS) {
    for (const one of ['{}', '[]', '1', '"a"', 'null', '0.12345678901234567', '12345678901234567', '{"":[{}]}']) {
      yield { name: `${length} of ${one}`, json: () => listOf(length, () => one) }
    }
    yield { name: `${length} objects with a key of their own`, json: () => listOf(length, (i) => `{"k${i}":1}`) }
    yield { name: `${length} of what belongs there`, json: () => listOf(length, () => JSON.stringify(sample ?? null)) }
    if (element === undefined) continue
    yield { name: `${length} fitting elements`, json: () => listOf(length, () => JSON.stringify(element)) }
    const odd = { ...Object(element), a: 1, b: 2 }
    yield { name: `${length} elements with unknown fields`, json: () => listOf(length, () => JSON.stringify(odd)) }
  }
  yield* nastyObjects()
  for (const [name, unit] of Object.entries(TEXTS)) {
    for (const size of [SIZE, 90_000]) {
      const json = () => `"${unit.repeat(Math.floor(size / bytesOf(unit)))}"`
      yield { name: `a text of ${size} bytes: ${name}`, json }
    }
  }
  for (const number of ['9'.repeat(SIZE), `0.${'1'.repeat(SIZE)}`, `1e${'9'.repeat(SIZE)}`, `1${'0'.repeat(300)}`]) {
    yield { name: `a number of ${number.length} characters`, json: () => number }
  }
}

/** Texts as they are written in JSON. */
const TEXTS = {
  letters: 'a',
  'an odd end': `${'a'.repeat(99)}!`,
  spaces: ' ',
  digits: '1234567890',
  words: 'who when where ',
  'line ends': '\\n',
  escapes: '\\u00e9',
  'escaped NUL': '\\u0000',
  'half a pair': '\\ud800',
  quotes: '\\"',
  backslashes: '\\\\',
  'combining marks': '\u0301',
  'wide characters': '\u6771',
  emoji: '\u{1f6e5}\ufe0f',
  'bidirectional marks': '\u202e',
  secrets: '{{secret.A}}',
  braces: '{{',
  'an address': 'https://a@b:',
  dots: 'a.',
  markup: '<a href=',
  times: '2026-11-16T09:00:00Z,',
}

function* nastyObjects(): Generator<Nasty> {
  const wide = (keys: number, value: string, key = (i: number) => `k${i}`) =>
    `{${Array.from({ length: keys }, (_, i) => `"${key(i)}":${value}`).join()}}`
  yield { name: '80,000 fields', json: () => wide(80_000, '1') }
  yield { name: '999 fields', json: () => wide(999, '1') }
  yield { name: '999 fields with long names', json: () => wide(999, '{}', (i) => `${i}${'k'.repeat(1_000)}`) }
  yield { name: '999 fields of 1 KiB', json: () => wide(999, `"${'x'.repeat(1_000)}"`) }
  yield {
    name: '999 fields of 19 objects',
    json: () =>
      wide(
        999,
        listOf(19, () => '{}'),
      ),
  }
  yield { name: '127 lists of 127 objects', json: () => listOf(127, () => listOf(127, () => '{}')) }
  yield { name: '999 lists of 300 numbers', json: () => listOf(999, () => listOf(300, () => '1')) }
  for (const depth of [30, 20, 100_000]) {
    yield { name: `${depth} lists in each other`, json: () => `${'['.repeat(depth)}${']'.repeat(depth)}` }
    yield { name: `${depth} objects in each other`, json: () => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}` }
    const branch = '[{},{},{},'
    yield { name: `${depth} lists with branches`, json: () => `${branch.repeat(depth)}1${']'.repeat(depth)}` }
  }
}

function listOf(length: number, element: (index: number) => string): string {
  const elements: string[] = []
  for (let i = 0, size = 0; i < length; i++) {
    const one = element(i)
    size += bytesOf(one) + 1
    if (size > SIZE) break
    elements.push(one)
  }
  return `[${elements.join()}]`
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}

/** Values for a header or a query parameter. Node accepts 16 KiB of headers. */
export const NASTY_WORDS: readonly string[] = [
  'a'.repeat(12_000),
  '9'.repeat(12_000),
  ','.repeat(12_000),
  'error,'.repeat(2_000),
  '-created_at,'.repeat(1_000),
  '%00'.repeat(4_000),
  '%C3%A9'.repeat(2_000),
  '%'.repeat(12_000),
  ';q=0.1,'.repeat(1_500),
  '"'.repeat(12_000),
  '\\"'.repeat(6_000),
  '127.0.0.1, '.repeat(1_000),
  'a=b; '.repeat(2_000),
  `${'a'.repeat(11_999)}!`,
  `${'eyJhIjoxfQ.'.repeat(1_000)}x`,
]

export const NASTY_HEADERS: readonly string[] = [
  'Authorization',
  'Idempotency-Key',
  'X-Service-OTP',
  'Accept',
  'Prefer',
  'Last-Event-ID',
  'Content-Type',
  'X-Forwarded-For',
  'Origin',
  'Cookie',
  'traceparent',
  'If-None-Match',
  'Mcp-Session-Id',
  'A2A-Version',
]
