import { z } from 'zod'

/** The first part of a model's name, as in `name/model`. The same rules apply to the configuration and the API. */
export const PROVIDER_NAME = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lowercase letters, digits and hyphens')
  .refine((name) => name !== 'builtin', 'is reserved for the built-in models')
  .refine((name) => name !== 'embedder', 'is reserved for the memory embedder')

export const ProviderType = z.enum(['openai-compatible', 'openai', 'anthropic'])

const MOST_MODELS = 100

/** Whether a provider's models accept images: all of them, none, or by the provider's own name of the model. */
export const Vision = z.union([
  z.boolean(),
  z
    .record(z.string().min(1).max(200), z.boolean())
    .refine((models) => Object.keys(models).length <= MOST_MODELS, `can contain at most ${MOST_MODELS} models`),
])
