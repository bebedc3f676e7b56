import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible'

/** The AI SDK's own model type. We call it directly: the loop, the retries and the registry are ours. */
export type LanguageModel = ReturnType<OpenAICompatibleProvider['chatModel']>

export type CallOptions = Parameters<LanguageModel['doStream']>[0]

/** A prompt as the AI SDK wants it. */
export type SdkPrompt = CallOptions['prompt']

export type AssistantPart = Extract<SdkPrompt[number], { role: 'assistant' }>['content'][number]

export type StreamPart =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never
