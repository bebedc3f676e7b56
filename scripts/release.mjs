// npm run release [-- folder] [-- --verify]: builds everything that a release has into release/, or into that folder.
// docs/release.md explains it.
// With --verify it builds twice, in other folders and another time zone, and fails if a byte differs.
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { buildRelease, factsOf } from './release/build-release.ts'

const root = dirname(import.meta.dirname)
const target = resolve(process.argv.slice(2).find((arg) => !arg.startsWith('-')) ?? join(root, 'release'))
const facts = factsOf(root, process.env)
if (facts.isChanged) console.error('The release does not include your uncommitted changes.')

// On the same disk, so that the finished folder is put in place by a rename.
const work = mkdtempSync(join(dirname(target), '.release-'))
try {
  console.log(`Building ${facts.version} (${facts.commit.slice(0, 12)}) …`)
  buildRelease(root, join(work, 'first'), facts)
  if (process.argv.includes('--verify')) {
    console.log('Building it again …')
    buildRelease(root, join(work, 'second'), facts, { label: 'another-folder', timeZone: 'Pacific/Auckland' })
    const different = readdirSync(join(work, 'first')).filter((name) => !isSame(name))
    if (different.length > 0) throw new Error(`The two builds differ: ${different.join(', ')}`)
    console.log('The two builds are byte-identical.')
  }
  rmSync(target, { recursive: true, force: true })
  renameSync(join(work, 'first'), target)
} finally {
  rmSync(work, { recursive: true, force: true })
}
console.log(target)
for (const name of readdirSync(target)) console.log(`${kilobytes(statSync(join(target, name)).size)}  ${name}`)

function isSame(name) {
  return readFileSync(join(work, 'first', name)).equals(readFileSync(join(work, 'second', name)))
}

function kilobytes(bytes) {
  return `${Math.ceil(bytes / 1024)} kB`.padStart(9)
}
