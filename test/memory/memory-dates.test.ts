import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { timeAsked, timeMentioned } from '../../src/memory/language/dates.ts'
import { questionOf } from '../../src/memory/language/question.ts'
import { stemsOf } from '../../src/memory/language/stems.ts'
import { termsOf } from '../../src/memory/language/terms.ts'
import { fc } from '../support/running/property.ts'

/** A Wednesday. */
const now = Date.parse('2026-05-20T12:00:00Z')

function written(window: { from: number; to: number } | undefined): string {
  const day = (time: number) => new Date(time).toISOString().slice(0, 10)
  return window ? `${day(window.from)} to ${day(window.to)}` : 'none'
}

describe('the time that a query asks about', () => {
  test('a week begins on Monday and has its Sunday', () => {
    const sunday = Date.parse('2026-05-24T12:00:00Z')
    const asked = (text: string) => written(timeAsked(stemsOf(text), sunday))
    assert.equal(asked('this week'), '2026-05-18 to 2026-05-25')
    assert.equal(asked('last week'), '2026-05-11 to 2026-05-18')
    assert.equal(asked('last weekend'), '2026-05-16 to 2026-05-18')
  })

  const cases: [string, string][] = [
    ['What did I say today?', '2026-05-20 to 2026-05-21'],
    ['What did I tell you yesterday?', '2026-05-19 to 2026-05-20'],
    ['and the day before yesterday?', '2026-05-18 to 2026-05-19'],
    ['what happened last night', '2026-05-19 to 2026-05-20'],
    ['What happened on Monday?', '2026-05-18 to 2026-05-19'],
    ['on Wednesday', '2026-05-20 to 2026-05-21'],
    ['last Wednesday', '2026-05-13 to 2026-05-14'],
    ['last week', '2026-05-11 to 2026-05-18'],
    ['this week', '2026-05-18 to 2026-05-25'],
    ['last weekend', '2026-05-16 to 2026-05-18'],
    ['the past month', '2026-04-01 to 2026-05-01'],
    ['last year', '2025-01-01 to 2026-01-01'],
    ['in January', '2026-01-01 to 2026-02-01'],
    ['in May', '2026-05-01 to 2026-06-01'],
    ['in November', '2025-11-01 to 2025-12-01'],
    ['last May', '2025-05-01 to 2025-06-01'],
    ['May 2024', '2024-05-01 to 2024-06-01'],
    ['in 2024', '2024-01-01 to 2025-01-01'],
    ['on 18 April', '2026-04-18 to 2026-04-19'],
    ['on May 9th', '2026-05-09 to 2026-05-10'],
    ['on the 2nd of June', '2025-06-02 to 2025-06-03'],
    ['the twenty-first of September', '2025-09-21 to 2025-09-22'],
    ['on 3 March 2024', '2024-03-03 to 2024-03-04'],
    ['on 2026-03-08', '2026-03-08 to 2026-03-09'],
    ['eight days ago', '2026-05-12 to 2026-05-13'],
    ['2 weeks ago', '2026-05-03 to 2026-05-10'],
    ['three months ago', '2026-02-01 to 2026-03-01'],
    ['Was habe ich dir gestern erzählt?', '2026-05-19 to 2026-05-20'],
    ['Was war im März los?', '2026-03-01 to 2026-04-01'],
    ['vor drei Tagen', '2026-05-17 to 2026-05-18'],
    ['letzten Montag', '2026-05-18 to 2026-05-19'],
    ["Qu'est-ce que je t'ai dit hier ?", '2026-05-19 to 2026-05-20'],
    ["Hier, qu'est-ce que je t'ai dit ?", '2026-05-19 to 2026-05-20'],
    ['avant-hier', '2026-05-18 to 2026-05-19'],
    ['la semaine dernière', '2026-05-11 to 2026-05-18'],
    ['il y a deux mois', '2026-03-01 to 2026-04-01'],
    ['¿Qué te conté ayer?', '2026-05-19 to 2026-05-20'],
    ['la semana pasada', '2026-05-11 to 2026-05-18'],
    ['el 9 de mayo', '2026-05-09 to 2026-05-10'],
    ['Что я сказал вчера?', '2026-05-19 to 2026-05-20'],
    ['на прошлой неделе', '2026-05-11 to 2026-05-18'],
    ['в марте', '2026-03-01 to 2026-04-01'],
    ['我昨天说了什么？', '2026-05-19 to 2026-05-20'],
    ['上周我说了什么？', '2026-05-11 to 2026-05-18'],
    ['5月に何をした？', '2026-05-01 to 2026-06-01'],
    ['昨日何を話した？', '2026-05-19 to 2026-05-20'],
    ['어제 무슨 얘기를 했어?', '2026-05-19 to 2026-05-20'],
    ['Hôm qua mình kể chuyện gì?', '2026-05-19 to 2026-05-20'],
    ['ماذا قلت لك أمس؟', '2026-05-19 to 2026-05-20'],
    ['What may I do in my garden?', 'none'],
    ['Hier ist das Problem', 'none'],
    ['Show me the last message', 'none'],
    ['When is my next appointment?', 'none'],
    ['two days a week', 'none'],
  ]
  for (const [query, expected] of cases) {
    test(query, () => assert.equal(written(timeAsked(stemsOf(query), now)), expected))
  }
})

describe('the time that a turn speaks of', () => {
  const cases: [string, string][] = [
    ['We went to the zoo yesterday.', '2026-05-19 to 2026-05-20'],
    ['Next week I start my course.', '2026-05-25 to 2026-06-01'],
    ['He comes next Friday.', '2026-05-22 to 2026-05-23'],
    ['The shot is due on the ninth of March.', '2026-03-09 to 2026-03-10'],
    ['The exam is on 3 October.', '2026-10-03 to 2026-10-04'],
    ['I broke it two days ago.', '2026-05-18 to 2026-05-19'],
    ['The concert is in June.', '2026-06-01 to 2026-07-01'],
    ['Wir fahren im Jänner oder Februar.', '2026-02-01 to 2026-03-01'],
    ['It may rain.', 'none'],
    ['We march on.', 'none'],
  ]
  for (const [content, expected] of cases) {
    test(content, () => assert.equal(written(timeMentioned(termsOf(content), now)), expected))
  }
})

describe('a question', () => {
  test('with a time, words that only ask for it are not search terms', () => {
    assert.deepEqual(questionOf('What did I tell you last week?', now).terms, [])
    assert.deepEqual(questionOf('What did I say about the kettle on Monday?', now).terms, ['kettl', 'monday'])
  })

  test('without a time, all remaining words are search terms', () => {
    assert.deepEqual(questionOf('What kind of tea?', now).terms, ['tea'])
    assert.deepEqual(questionOf('What kind?', now).terms, ['kind'])
    assert.deepEqual(questionOf('Wie heißt das Kind?', now).terms.includes('kind'), true)
  })

  test('any text at any time gives a range that starts before it ends, or none', () => {
    const words = fc.constantFrom(
      'last',
      'next',
      'may',
      'in',
      'ago',
      'week',
      '31',
      '2026',
      'february',
      'monday',
      'a',
      '9999',
    )
    fc.assert(
      fc.property(fc.array(words, { maxLength: 8 }), fc.integer({ min: 0, max: 4e12 }), (chosen, time) => {
        const { window } = questionOf(chosen.join(' '), time)
        if (window) assert.ok(window.from < window.to, written(window))
      }),
    )
  })
})
