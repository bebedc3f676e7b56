import type { Replay, ReplayCase } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'

type Report = NonNullable<Replay['report']>
type Interval = Report['columns']['candidate']['pass_rate']

const MARKS = { passed: '✅', regression: '❌', inconclusive: '⚠️' } as const
/** A comment on a pull request has 65,536 characters. */
const MOST_SHOWN = 20
const MOST_WORDS = 300

/** The report as Markdown, with the cases that got worse, for a pull request or a job's summary. */
export function toldInMarkdown(replay: Replay, cases: readonly ReplayCase[]): string {
  const { report, verdict, status } = replay
  const tested = replay.version ?? 'the draft'
  const of = replay.set ? `the set \`${replay.set.name}\`` : counted(replay.case_count, 'past invocation')
  const head = [`## ${verdict ? `${MARKS[verdict]} ${verdict}` : status}: ${tested} on ${of}`, '']
  if (!report) return head.join('\n')
  const bad = cases.filter(isBad)
  return [
    ...head,
    report.reason,
    '',
    '| | Passed | Failed | Unknown | Pass rate | Tokens | Cost |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...Object.entries(report.columns).flatMap(([name, sum]) =>
      sum
        ? [
            `| ${titleOf(name, replay)} | ${sum.passed} | ${sum.failed} | ${sum.unknown} | ${percent(sum.pass_rate)} | ${sum.tokens} | ${dollars(sum.cost_usd)} |`,
          ]
        : [],
    ),
    '',
    ...report.worst.map(({ slice, regressed, improved, cases: count }) => {
      return `- ${cell(slice)}: ${regressed} of ${count} got worse, ${improved} better`
    }),
    ...report.unrecorded_calls.map(({ name, cases: count }) => {
      return `- \`${cell(name)}\` was called in a way that was never recorded, in ${counted(count, 'case')}`
    }),
    ...(bad.length > 0
      ? [
          '',
          bad.every(isAlone) ? '### Failed' : '### Worse',
          '',
          '| Case | Failed checks | Answer |',
          '| --- | --- | --- |',
        ]
      : []),
    ...bad.slice(0, MOST_SHOWN).map((one) => {
      return `| ${cell(nameOf(one))} | ${cell(failuresOf(one).join('; '))} | ${cell(one.candidate?.response ?? '')} |`
    }),
    ...(bad.length > MOST_SHOWN ? ['', `${bad.length - MOST_SHOWN} more`] : []),
    '',
    `Spent ${dollars(replay.spent.cost_usd)} and ${replay.spent.tokens} tokens. Replay \`${replay.id}\`.`,
    '',
  ].join('\n')
}

/**
 * The cases as JUnit's XML, which most CI systems show. A case fails if it got worse, or failed and nothing is compared
 * with it.
 */
export function toldInJunit(replay: Replay, cases: readonly ReplayCase[]): string {
  const suite = xml(`replay ${replay.set?.name ?? 'of past invocations'}`)
  const failures = cases.filter(isBad).length
  const skipped = cases.filter(isSkipped).length
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${suite}" tests="${cases.length}" failures="${failures}" skipped="${skipped}">`,
    `  <testsuite name="${suite}" tests="${cases.length}" failures="${failures}" skipped="${skipped}">`,
    ...cases.flatMap((one) => testCase(one, suite)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function testCase(one: ReplayCase, suite: string): string[] {
  const seconds = ((one.candidate?.duration_ms ?? 0) / 1000).toFixed(3)
  const head = `    <testcase classname="${suite}" name="${xml(`${one.position + 1} ${nameOf(one)}`)}" time="${seconds}"`
  const problem = failuresOf(one).join('; ')
  if (isSkipped(one)) return [`${head}><skipped message="${xml(problem || 'no result')}"/></testcase>`]
  if (!isBad(one)) return [`${head}/>`]
  const answer = xml(one.candidate?.response ?? '')
  return [`${head}>`, `      <failure message="${xml(problem)}">${answer}</failure>`, '    </testcase>']
}

function isBad(one: ReplayCase): boolean {
  return one.outcome === 'regressed' || (one.outcome === 'failed' && isAlone(one))
}

/** Nothing is deployed and nothing was recorded, so there is no other answer. */
function isAlone({ baseline, recorded }: ReplayCase): boolean {
  return baseline === null && recorded === null
}

function isSkipped({ outcome }: ReplayCase): boolean {
  return outcome === null || outcome === 'unknown'
}

function nameOf({ name, message, erased, position }: ReplayCase): string {
  if (erased) return `case ${position + 1} (erased)`
  return name ?? message.split('\n')[0]?.slice(0, MOST_WORDS) ?? ''
}

function failuresOf({ candidate }: ReplayCase): string[] {
  if (!candidate) return []
  const checks = candidate.checks.filter(({ passed }) => passed !== true)
  return [
    ...(candidate.error === null ? [] : [candidate.error]),
    ...candidate.unrecorded_calls.map(({ name }) => `${name} was never recorded with these arguments`),
    ...checks.map(({ type, note }) => (note ? `${type} (${note})` : type)),
  ]
}

function titleOf(name: string, { baseline_version }: Replay): string {
  return name === 'baseline' ? `baseline (${baseline_version})` : name
}

function percent(interval: Interval): string {
  if (!interval) return '–'
  const [value, low, high] = [interval.value, interval.low, interval.high].map((share) => Math.round(share * 100))
  return `${value} % (${low}–${high})`
}

function dollars(cost: number | null): string {
  return cost === null ? 'unknown' : `$${cost}`
}

/** Text in a cell of a table. What it contains must not become markup. */
function cell(text: string): string {
  const line = text.replace(/\s+/g, ' ').slice(0, MOST_WORDS)
  return line.replace(/[\\`*_[\]<>|#~!]/g, (sign) => `\\${sign}`)
}

const XML: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' }

/** XML can't contain control characters, not even escaped. */
function xml(text: string): string {
  const allowed = text.toWellFormed().replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
  return allowed.replace(/[<>&"]/g, (sign) => XML[sign] ?? sign)
}
