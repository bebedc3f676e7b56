import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { slack } from '../../src/triggers/channels/slack.ts'

describe('a long question with buttons in Slack', () => {
  const access = { api_url: 'https://slack.test/api', token: 'xoxb-1' }
  const sectionOf = (text: string): string => {
    const buttons = [{ label: 'Yes', value: '1' }]
    const { body } = slack.post(access, { channel: 'C1' }, { id: 'ans_1', text, buttons }) as {
      body: { blocks: Section[] }
    }
    return body.blocks[0]?.text.text ?? ''
  }
  type Section = { text: { text: string } }

  for (const torn of ['&lt;', '&amp;', '<https://a.test/path|here>', '🙂']) {
    test(`is cut before ${torn}, not within`, () => {
      for (let within = 1; within < torn.length; within++) {
        const kept = 'x'.repeat(3_000 - within)
        assert.equal(sectionOf(`${kept}${torn} and more`), kept)
      }
    })
  }

  test('is whole up to the limit, also if it ends with such a character', () => {
    const text = `${'x'.repeat(2_996)}&lt;`
    assert.equal(sectionOf(text), text)
    assert.equal(sectionOf(`${text} and more`), text)
  })
})
