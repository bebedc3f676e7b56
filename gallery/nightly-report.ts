import type { GalleryExample } from './example.ts'

const URL = 'http://127.0.0.1:8711'

export const nightlyReport: GalleryExample = {
  id: 'nightly-report',
  title: 'Nightly report',
  about: "Reads the day's figures every night, and writes a report that a webhook can pick up.",
  definition: {
    description: "Writes a report of the day's figures.",
    model: 'builtin/script',
    instructions:
      "Write a short report of yesterday's figures. Call figures once. Say first what has changed most, " +
      'and never invent a number.',
    tools: [
      {
        type: 'http',
        name: 'figures',
        description: "Returns yesterday's figures, with those of the day before.",
        method: 'GET',
        url: `${URL}/figures`,
      },
    ],
    script: { rules: [{ call: { tool: 'figures', arguments: {} }, reply: 'Nightly report\n\n{{result}}' }] },
  },
  schedule: { name: 'nightly', cron: '0 2 * * *', message: "Write the report of yesterday's figures." },
  server: { file: 'tools.mjs', url: URL },
  files: {
    'tools.mjs': `// The figures of the nightly report. Replace them with a query of your own database.
import { createServer } from 'node:http'

const figures = [
  { name: 'Orders', yesterday: 128, before: 119 },
  { name: 'Revenue (EUR)', yesterday: 4210, before: 3987 },
  { name: 'Refunds', yesterday: 3, before: 5 },
]

const lines = figures.map(({ name, yesterday, before }) => {
  const change = Math.round(((yesterday - before) / before) * 100)
  return \`\${name}: \${yesterday} (\${change < 0 ? '' : '+'}\${change} %)\`
})
const server = createServer((_request, response) => response.end(lines.join('\\n')))
server.listen(Number(process.env.PORT ?? 8711), '127.0.0.1', () => console.log('The tools are listening', server.address()))
`,
  },
  tries: [{ message: 'Write the report.', answer: 'Orders: 128 (+8 %)' }],
}
