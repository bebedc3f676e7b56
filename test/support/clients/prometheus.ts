import assert from 'node:assert/strict'

export type Labels = Record<string, string>
export type SampleAt = { name: string; labels: Labels; value: number }
/** What was read at one time, which is in seconds. */
export type Scrape = { time: number; samples: SampleAt[] }

const LINE = /^(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)+)\})? (-?[\d.e+-]+|[+-]Inf|NaN)$/

/** All samples as Prometheus would read them. Fails on a line that Prometheus would refuse. */
export function readSamples(text: string): SampleAt[] {
  const seen = new Set<string>()
  const types = new Map<string, string>()
  assert.ok(text.endsWith('\n'))
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const [, declaredName, type] = /^# TYPE (\w+) (counter|gauge|histogram)$/.exec(line) ?? []
      if (declaredName && type) types.set(declaredName, type)
      if (line.startsWith('#')) return []
      const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? assert.fail(`not a sample: ${line}`)
      const declared = types.get(name) ?? types.get(name.replace(/_(?:bucket|sum|count)$/, ''))
      assert.ok(declared, `no type for ${name}`)
      assert.ok(!seen.has(`${name}{${labels}}`), `twice: ${line}`)
      seen.add(`${name}{${labels}}`)
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', of = '']) => [key, of])
      return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
    })
}

/** Scrapes `/metrics` as Prometheus does: with the labels of its job, and `up` for a target that didn't respond. */
export async function scrapeTarget(url: string, headers: Labels, time: number): Promise<Scrape> {
  const job = { job: 'moorage', instance: new URL(url).host }
  const up = (value: number): SampleAt => ({ name: 'up', labels: job, value })
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(120_000) })
    assert.equal(response.status, 200)
    const samples = readSamples(await response.text())
    return { time, samples: [up(1), ...samples.map((sample) => ({ ...sample, labels: { ...sample.labels, ...job } }))] }
  } catch {
    return { time, samples: [up(0)] }
  }
}

type Vector = { labels: Labels; value: number }[]

const SELECTOR = /^(\w+)(?:\{([^}]*)\})?(?:\[(\d+)([mh])\])?$/

/**
 * Evaluates an expression at the time of the last scrape. It supports the part of PromQL that our alerts use, and fails
 * on everything else.
 */
export function evaluate(expr: string, scrapes: readonly Scrape[]): Vector {
  const [, present] = /^absent\((.+)\)$/.exec(expr) ?? []
  if (present) return evaluate(present, scrapes).length === 0 ? [{ labels: {}, value: 1 }] : []
  const [, left, operator, right] = /^(.+) (==|<|>) ([\d.]+)$/.exec(expr) ?? assert.fail(`not a condition: ${expr}`)
  const limit = Number(right)
  const holds = { '==': (v: number) => v === limit, '<': (v: number) => v < limit, '>': (v: number) => v > limit }
  return quotient(left ?? '', scrapes).filter(({ value }) => holds[operator as '=='](value))
}

function quotient(expr: string, scrapes: readonly Scrape[]): Vector {
  const [over, under, ...more] = expr.split(' / ')
  assert.deepEqual(more, [])
  const above = vectorOf(over ?? '', scrapes)
  if (under === undefined) return above
  const below = vectorOf(under, scrapes)
  return above.flatMap(({ labels, value }) => {
    const same = below.find((other) => JSON.stringify(other.labels) === JSON.stringify(labels))
    return same ? [{ labels, value: value / same.value }] : []
  })
}

function vectorOf(expr: string, scrapes: readonly Scrape[]): Vector {
  const [, by, counted] = /^count(?: by \((\w+)\) ?)?\((.+)\)$/.exec(expr) ?? []
  if (counted) return countOf(vectorOf(counted, scrapes), by)
  const [, name, inner = ''] = /^(sum|rate|increase|changes)\((.+)\)$/.exec(expr) ?? []
  if (name === 'sum') {
    const vector = vectorOf(inner, scrapes)
    return vector.length === 0 ? [] : [{ labels: {}, value: vector.reduce((sum, { value }) => sum + value, 0) }]
  }
  if (name === 'changes') {
    return seriesIn(inner, scrapes).map(({ labels, values }) => {
      return { labels, value: values.filter((value, index) => index > 0 && value !== values[index - 1]).length }
    })
  }
  if (name) return grown(inner, scrapes, name === 'rate')
  const latest = scrapes.at(-1) ?? assert.fail('no scrape')
  return select(expr, latest.samples).map(({ labels, value }) => ({ labels, value }))
}

function countOf(vector: Vector, by = ''): Vector {
  const groups = Map.groupBy(vector, ({ labels }) => labels[by] ?? '')
  return [...groups].map(([of, found]) => ({ labels: by ? { [by]: of } : {}, value: found.length }))
}

function secondsOf(expr: string): number {
  const [, , , count, unit] = SELECTOR.exec(expr) ?? assert.fail(expr)
  return Number(count) * (unit === 'h' ? 3600 : 60)
}

type Series = { labels: Labels; values: number[] }

/** The values of each series in the range. */
function seriesIn(expr: string, scrapes: readonly Scrape[]): Series[] {
  const seconds = secondsOf(expr)
  const end = scrapes.at(-1)?.time ?? 0
  const series = new Map<string, Series>()
  for (const { time, samples } of scrapes) {
    if (time < end - seconds) continue
    for (const { labels, value } of select(expr, samples)) {
      const key = JSON.stringify(labels)
      const found = series.get(key) ?? { labels, values: [] }
      found.values.push(value)
      series.set(key, found)
    }
  }
  return [...series.values()]
}

/** By how much each counter has grown in the range. A counter that fell has started over. */
function grown(expr: string, scrapes: readonly Scrape[], perSecond: boolean): Vector {
  const seconds = secondsOf(expr)
  return seriesIn(expr, scrapes).flatMap(({ labels, values }) => {
    if (values.length < 2) return []
    const growth = values.slice(1).reduce((sum, value, index) => {
      const before = values[index] as number
      return sum + (value < before ? value : value - before)
    }, 0)
    return [{ labels, value: perSecond ? growth / seconds : growth }]
  })
}

function select(expr: string, samples: readonly SampleAt[]): SampleAt[] {
  const [, name, matchers = ''] = SELECTOR.exec(expr) ?? assert.fail(`not a selector: ${expr}`)
  const wanted = [...matchers.matchAll(/(\w+)(=~|=)"([^"]*)"/g)]
  return samples.filter(
    (sample) =>
      sample.name === name &&
      wanted.every(([, label = '', how, text = '']) => {
        const value = sample.labels[label] ?? ''
        return how === '=' ? value === text : new RegExp(`^(?:${text})$`).test(value)
      }),
  )
}
