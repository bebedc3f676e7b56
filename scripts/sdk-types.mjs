// npm run sdk:types: writes what is made from the operations and shapes. A test fails when one of the files is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { openApiDocument } from '../src/http/reference/openapi.ts'
import { operations } from '../src/operations.ts'
import { renderApiDocs } from './render-api-docs.ts'
import { renderCliDocs } from './render-cli-docs.ts'
import { renderCliTable } from './render-cli-table.ts'
import { renderPythonMethods, renderPythonTypes } from './render-python.ts'
import { renderRemoteSchema } from './render-remote-schema.ts'
import { renderSdkApi } from './render-sdk-api.ts'
import { renderSdkMethods } from './render-sdk-methods.ts'

const document = await openApiDocument(operations)
writeFileSync(new URL('../sdk/api.ts', import.meta.url), renderSdkApi(document))
writeFileSync(new URL('../sdk/methods.ts', import.meta.url), renderSdkMethods(document))
writeFileSync(new URL('../python/moorage/types.py', import.meta.url), renderPythonTypes(document))
writeFileSync(new URL('../python/moorage/_methods.py', import.meta.url), renderPythonMethods(document))
writeFileSync(new URL('../src/cli/from-operations/command-table.ts', import.meta.url), renderCliTable(document))
writeFileSync(new URL('../docs/remote-agent.schema.json', import.meta.url), renderRemoteSchema())
const api = new URL('../docs/api.md', import.meta.url)
writeFileSync(api, renderApiDocs(readFileSync(api, 'utf8'), document))
// It reads the table that was written above.
const cli = new URL('../docs/cli.md', import.meta.url)
writeFileSync(cli, await renderCliDocs(readFileSync(cli, 'utf8')))
