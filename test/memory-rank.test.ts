import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tiersOf } from '../src/memory/full-text.ts'
import { type Document, rank, type Statistics, scoreWords } from '../src/memory/rank.ts'
import { termsOf } from '../src/memory/terms.ts'
import { fc } from './support/property.ts'

const none: Statistics = { count: 0, length: 0, having: new Map() }

function turn(seq: number, terms: string, beside: Partial<Document> = {}): Document {
  return { seq, collection: 'turn', terms, length: terms.split(' ').length, near: [], further: [], ...beside }
}

function statistics(documents: Document[], query: string[]): Statistics {
  const having = (term: string) => documents.filter(({ terms }) => terms.split(' ').includes(term)).length
  return {
    count: documents.length,
    length: documents.reduce((sum, { length }) => sum + length, 0),
    having: new Map(query.map((term) => [term, having(term)])),
  }
}

function order(query: string, documents: Document[]): number[] {
  const terms = query.split(' ')
  const words = scoreWords(terms, documents, { turn: statistics(documents, terms), note: none })
  return rank(words).map(({ seq }) => seq)
}

describe('scoreWords', () => {
  test('is BM25: a worked example', () => {
    const words = scoreWords(['tea', 'black'], [turn(1, 'black tea tea milk'), turn(2, 'black coffee')], {
      turn: {
        count: 1000,
        length: 3000,
        having: new Map([
          ['tea', 10],
          ['black', 50],
        ]),
      },
      note: none,
    })
    // idf(tea) = ln(1 + 990.5 / 10.5), idf(black) = ln(1 + 950.5 / 50.5); average length 3, k1 = 1.2, b = 0.75
    const saturated = (frequency: number, length: number) => {
      const f = frequency / (0.25 + (0.75 * length) / 3)
      return (f * 2.2) / (f + 1.2)
    }
    const tea = Math.log(1 + 990.5 / 10.5)
    const black = Math.log(1 + 950.5 / 50.5)
    assert.ok(Math.abs((words.get(1) as number) - (tea * saturated(2, 4) + black * saturated(1, 4))) < 1e-9)
    assert.ok(Math.abs((words.get(2) as number) - black * saturated(1, 2)) < 1e-9)
  })

  test('a rare term says more than a common one', () => {
    const common = [3, 4, 5, 6].map((seq) => turn(seq, 'dog park'))
    assert.equal(order('dog biscuit', [turn(1, 'dog walk'), turn(2, 'biscuit walk'), ...common])[0], 2)
  })

  test('the same words in fewer say more', () => {
    assert.deepEqual(order('tea', [turn(1, 'tea with a lot of milk'), turn(2, 'tea milk')]), [2, 1])
  })

  test('a turn lends its words to those around it, the nearer the more', () => {
    const documents = [turn(10, 'telephone number', { near: [9, 11], further: [8, 12] })]
    assert.deepEqual(order('telephone', documents), [10, 11, 9, 12, 8])
  })

  test('turns and notes are measured each against their own', () => {
    const note: Document = { ...turn(2, 'tea black'), collection: 'note' }
    const words = scoreWords(['tea'], [turn(1, 'tea black'), note], {
      turn: { count: 1000, length: 2000, having: new Map([['tea', 900]]) },
      note: { count: 1000, length: 2000, having: new Map([['tea', 2]]) },
    })
    assert.ok((words.get(2) as number) > 10 * (words.get(1) as number))
  })
})

describe('rank', () => {
  test('words alone: bm25 / (bm25 + 8)', () => {
    assert.deepEqual(
      rank(
        new Map([
          [1, 8],
          [2, 24],
          [3, 0],
        ]),
      ),
      [
        { seq: 2, score: 0.75 },
        { seq: 1, score: 0.5 },
      ],
    )
  })

  test('with an embedder: 0.7 · bm25 / (bm25 + 8) + 0.3 · max(0, cosine)', () => {
    const hits = rank(
      new Map([
        [1, 8],
        [2, 8],
        [3, 8],
      ]),
      new Map([
        [1, 0.5],
        [2, -0.9],
        [4, 0.9],
      ]),
    )
    assert.deepEqual(hits, [
      { seq: 1, score: 0.5 },
      { seq: 3, score: 0.35 },
      { seq: 2, score: 0.35 },
      { seq: 4, score: 0.27 },
    ])
  })

  test('scores are above 0 and at most 1, best first, whatever goes in', () => {
    const scores = fc.array(fc.tuple(fc.nat(50), fc.double({ min: 0, max: 1e6, noNaN: true })))
    const cosines = fc.array(fc.tuple(fc.nat(50), fc.double({ min: -1, max: 1, noNaN: true })))
    fc.assert(
      fc.property(scores, fc.option(cosines), (words, cosine) => {
        const hits = rank(new Map(words), cosine ? new Map(cosine) : undefined)
        for (const { score } of hits) assert.ok(score > 0 && score <= 1)
        assert.deepEqual(
          hits,
          hits.toSorted((a, b) => b.score - a.score || b.seq - a.seq),
        )
        assert.equal(new Set(hits.map(({ seq }) => seq)).size, hits.length)
      }),
    )
  })
})

describe('tiersOf', () => {
  test('all terms at once while they fit', () => {
    assert.deepEqual(
      tiersOf(
        new Map([
          ['b', 30],
          ['a', 5],
          ['none', 0],
        ]),
        40,
      ),
      [[['a'], ['b']]],
    )
  })

  test('rare terms first; of common ones, what has two before what has one', () => {
    const having = new Map([
      ['the', 900],
      ['rare', 3],
      ['shop', 200],
      ['coffee', 150],
    ])
    assert.deepEqual(tiersOf(having, 100), [
      [['rare']],
      [
        ['coffee', 'shop'],
        ['coffee', 'the'],
        ['shop', 'the'],
      ],
      [['coffee']],
    ])
  })

  test('nothing for terms that nothing has', () => {
    assert.deepEqual(tiersOf(new Map([['a', 0]]), 100), [])
  })
})

describe('termsOf', () => {
  const cases: [string, string[]][] = [
    ['', []],
    ['What is it about?', []],
    ['Hikes, hiked & HIKING', ['hik', 'hik', 'hik']],
    ["I don't think that's Anna's, I'll ask O'Brien", ['think', 'anna', 'ask', 'obrien']],
    ['families and movies, a movie', ['famili', 'movi', 'movi']],
    ['running planned calling', ['run', 'plan', 'call']],
    ['bring the spring thing', ['bring', 'spring', 'thing']],
    ['Crème Brûlée', ['crem', 'brule']],
    ['ﬁne ①', ['fin', '1']],
    ['東京都 tower', ['東京', '京都', 'tower']],
    ['水', ['水']],
    ['⺀ 水', ['水']],
    ['한국어', ['한국', '국어']],
    ['Привет, мир', ['привет', 'мир']],
    ['3.14 v2 x_y', ['3', '14', 'v2', 'x', 'y']],
  ]
  for (const [text, terms] of cases) test(JSON.stringify(text), () => assert.deepEqual(termsOf(text), terms))

  test('terms are letters and digits only, well formed and bounded, of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        for (const term of termsOf(text)) assert.match(term, /^[\p{L}\p{N}\p{M}\ufffd]{1,40}$/u)
      }),
    )
  })

  test('long and hostile texts take no time', () => {
    const hostile = [
      'a'.repeat(1e6),
      `${'a'.repeat(5e4)}!`,
      "n't".repeat(2e5),
      '\u0301'.repeat(1e6),
      'ß'.repeat(1e6),
      '東'.repeat(1e6),
    ]
    const started = performance.now()
    for (const text of hostile) assert.ok(termsOf(text).length <= 4000)
    const elapsed = performance.now() - started
    assert.ok(elapsed < 1000, `${elapsed} ms`)
  })
})
