import type { GalleryExample } from './example.ts'

const URL = 'http://127.0.0.1:8712'

export const documentQuestions: GalleryExample = {
  id: 'document-questions',
  title: 'Document questions',
  about: 'Answers from a folder of documents, and names the document that it quotes.',
  definition: {
    description: 'Answers questions from the documents in a folder.',
    model: 'builtin/script',
    instructions:
      'Answer from the documents only. Search before you answer, name the document that you quote, ' +
      "and say so if the documents don't contain the answer.",
    tools: [
      {
        type: 'http',
        name: 'search_documents',
        description: 'Returns the paragraph of the documents that matches a question best, with its file name.',
        method: 'GET',
        url: `${URL}/search?question={question}`,
        input_schema: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
      },
    ],
    script: {
      rules: [{ call: { tool: 'search_documents', arguments: { question: '{{message}}' } }, reply: '{{result}}' }],
    },
  },
  server: { file: 'tools.mjs', url: URL },
  files: {
    'tools.mjs': `// Searches the Markdown files in the folder "documents". Each paragraph is one passage.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const folder = new URL('./documents/', import.meta.url)
const wordsOf = (text) => new Set((text.toLowerCase().match(/\\p{L}{4,}/gu) ?? []).map((word) => word.slice(0, 5)))
const passages = readdirSync(folder)
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) =>
    readFileSync(new URL(file, folder), 'utf8')
      .split(/\\n\\s*\\n/)
      .map((text) => ({ file, text: text.trim(), words: wordsOf(text) })),
  )

/** The passage that shares the most words with the question. */
function search(question) {
  const asked = wordsOf(question)
  const scored = passages.map((passage) => ({ ...passage, score: [...asked].filter((word) => passage.words.has(word)).length }))
  const [best] = scored.sort((a, b) => b.score - a.score)
  return best?.score ? \`\${best.text} (\${best.file})\` : "The documents don't say."
}

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  response.end(search(searchParams.get('question') ?? ''))
})
server.listen(Number(process.env.PORT ?? 8712), '127.0.0.1', () => console.log('The tools are listening', server.address()))
`,
    'documents/holidays.md': `Every employee has 28 days of holiday each year.

Holiday that is not used by the end of March expires.
`,
    'documents/travel.md': `Book trains in second class. Flights need the approval of your lead.

Hand in receipts within 30 days after the journey.
`,
  },
  tries: [
    { message: 'When does unused holiday expire?', answer: 'by the end of March expires. (holidays.md)' },
    { message: 'Who approves flights?', answer: 'Flights need the approval of your lead. (travel.md)' },
  ],
}
