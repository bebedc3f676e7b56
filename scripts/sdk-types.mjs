// npm run sdk:types: writes sdk/api.ts and sdk/methods.ts. A test fails when they no longer say what the service does.
import { writeFileSync } from 'node:fs'
import { openApiDocument } from '../src/http/reference/openapi.ts'
import { operations } from '../src/operations.ts'
import { renderSdkApi } from './render-sdk-api.ts'
import { renderSdkMethods } from './render-sdk-methods.ts'

const document = openApiDocument(operations)
writeFileSync(new URL('../sdk/api.ts', import.meta.url), renderSdkApi(document))
writeFileSync(new URL('../sdk/methods.ts', import.meta.url), renderSdkMethods(document))
