import { readFileSync } from 'node:fs'
import { llmsText } from './llms.ts'
import type { OpenApi } from './openapi-document.ts'
import { referencePage } from './reference-page.ts'

/** A page that anyone can read. */
export type OpenPage = { path: string; headers: Record<string, string>; body: () => string | Promise<string> }

/** Everything comes from this service, so the browser must not load anything from elsewhere. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const asset = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')

/** The API reference and its files. The document is made when a page that shows it is first requested. */
export function referencePages(document: () => Promise<OpenApi>, has: { hasConsole: boolean }): OpenPage[] {
  return [
    {
      path: '/docs',
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': CONTENT_SECURITY_POLICY,
        'Referrer-Policy': 'no-referrer',
      },
      body: async () => referencePage(await document(), has),
    },
    {
      path: '/docs/reference.css',
      headers: { 'Content-Type': 'text/css; charset=utf-8' },
      body: () => asset('./reference.css'),
    },
    {
      path: '/docs/reference.js',
      headers: { 'Content-Type': 'text/javascript; charset=utf-8' },
      body: () => asset('./reference-in-browser.js'),
    },
    {
      path: '/docs/send.js',
      headers: { 'Content-Type': 'text/javascript; charset=utf-8' },
      body: () => asset('./send-in-browser.js'),
    },
    {
      path: '/llms.txt',
      headers: { 'Content-Type': 'text/plain; charset=utf-8' },
      body: async () => llmsText(await document()),
    },
  ]
}
