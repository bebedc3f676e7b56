import type { ErrorObject } from 'ajv'

const MAX_CHARACTERS = 500

/** What is wrong and where, for a model or a person: `arguments.days: must be >= 1`. */
export function sentenceOf({ instancePath, keyword, params, message = keyword }: ErrorObject, name: string): string {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`))
  const { additionalProperty, unevaluatedProperty, propertyName, allowedValues, allowedValue } = params
  const named = additionalProperty ?? unevaluatedProperty ?? propertyName ?? allowedValues ?? allowedValue
  const detail = named === undefined ? '' : `: ${JSON.stringify(named)}`
  return `${name}${path.join('')}: ${message}${detail}`.slice(0, MAX_CHARACTERS)
}
