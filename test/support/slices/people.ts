import assert from 'node:assert/strict'
import { recognisePerson } from '../../../src/people/recognise-person.ts'
import * as people from '../../../src/people/store.ts'
import { OidcSettings } from '../../../src/security/oidc/oidc-settings.ts'
import { partsOf, storageOf } from '../inside.ts'
import type { Service } from '../service/service.ts'

/** A person who has signed in once, with a role in the project that the service's requests name. Returns the ID. */
export async function makePerson(service: Service, name: string): Promise<string> {
  const storage = storageOf(service)
  const { now } = service
  const { audit, config, newId, log } = partsOf(service)
  const issuer = OidcSettings.parse({ name: 'sample', issuer: 'https://sample.example.com', clientId: 'sample' })
  const told = { issuer: issuer.issuer, subject: name, name, address: undefined, groups: [] }
  const identity = { ...told, is_strong: false, session: null }
  const parts = { audit, config, newId, log, now: now(), request_id: newId('req', now()), address: null }
  await storage.transaction((db) => recognisePerson(db, identity, issuer, parts))
  const person = await people.findByIdentity(storage.db, identity.issuer, identity.subject)
  assert.ok(person)
  const given = await service.call('PUT', `/v1/people/${person.id}/role`, { body: { role: 'viewer' } })
  assert.equal(given.status, 200, given.text)
  return person.id
}
