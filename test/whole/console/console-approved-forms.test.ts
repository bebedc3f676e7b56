import { test } from 'node:test'
import { type ConsoleScene, inHarbour } from '../../support/console/console-scene.ts'
import { FORMS_OF_AGENTS } from '../../support/console/forms-of-agents.ts'
import { FORMS_OF_SERVICE } from '../../support/console/forms-of-service.ts'

inHarbour('what the forms of the console say and send', (open, harbour) => {
  let scene: ConsoleScene
  for (const [name, forms] of Object.entries({ ...FORMS_OF_AGENTS, ...FORMS_OF_SERVICE })) {
    test(name, async (t) => {
      scene ??= await open('/')
      for (const [path, deeds] of forms(harbour())) {
        await scene.open(path)
        await scene.act(deeds)
        await scene.close()
      }
      scene.approve(t, `forms/${name}`, [
        [/\b[\d.]+ (ms|s)\b/g, 'duration'],
        [/\b[0-9a-f]{64}\b/g, 'digest'],
      ])
    })
  }
})
