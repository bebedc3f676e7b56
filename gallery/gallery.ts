import { documentQuestions } from './document-questions.ts'
import type { GalleryExample } from './example.ts'
import { langgraph } from './langgraph.ts'
import { nightlyReport } from './nightly-report.ts'
import { supportDesk } from './support-desk.ts'
import { triage } from './triage.ts'

/** What `moorage init --from` and the console offer. */
export const GALLERY: readonly GalleryExample[] = [supportDesk, nightlyReport, documentQuestions, triage, langgraph]
