// npm run sdk:types: writes sdk/api.ts, sdk/methods.ts and docs/remote-agent.schema.json. A test fails when they no
// longer say what the service does.
import { writeFileSync } from 'node:fs'
import { openApiDocument } from '../src/http/reference/openapi.ts'
import { operations } from '../src/operations.ts'
import { renderRemoteSchema } from './render-remote-schema.ts'
import { renderSdkApi } from './render-sdk-api.ts'
import { renderSdkMethods } from './render-sdk-methods.ts'

const document = await openApiDocument(operations)
writeFileSync(new URL('../sdk/api.ts', import.meta.url), renderSdkApi(document))
writeFileSync(new URL('../sdk/methods.ts', import.meta.url), renderSdkMethods(document))
writeFileSync(new URL('../docs/remote-agent.schema.json', import.meta.url), renderRemoteSchema())
