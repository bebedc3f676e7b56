// npm run sdk:types: writes sdk/api.ts. A test fails when it no longer says what the service does.
import { writeFileSync } from 'node:fs'
import { openApiDocument } from '../src/http/reference/openapi.ts'
import { operations } from '../src/operations.ts'
import { renderSdkApi } from './render-sdk-api.ts'

writeFileSync(new URL('../sdk/api.ts', import.meta.url), renderSdkApi(openApiDocument(operations)))
