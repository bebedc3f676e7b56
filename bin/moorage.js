#!/usr/bin/env node
// As `npm start` does; docs/deploy.md says why.
if (process.argv[2] === 'start') process.execArgv.push('--initial-heap-size=128')
process.argv.splice(2, 0, 'src/cli/main.ts')
await import('../scripts/launch.mjs')
