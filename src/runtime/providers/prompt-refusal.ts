/** The error messages of providers and servers for a prompt that is too long. */
const TOO_LONG = [
  /context[_ ]length[_ ]exceeded|exceed_context_size_error/i, // the codes of OpenAI and llama.cpp
  /prompt is too long|input length and `?max_tokens`? exceed|request_too_large/i, // Anthropic
  /maximum (?:context|prompt|model) length|exceeds? the context window/i, // OpenAI, vLLM, OpenRouter, xAI
  /(?:exceeds?|greater than) the (?:available |maximum )?context (?:size|length)/i, // llama.cpp, LM Studio, Ollama
  /reduce the length of the messages/i, // Groq
  /input token count .{0,40}exceeds the maximum/i, // Gemini
  /inputs?`? tokens \+ `?max_new_tokens`? must be/i, // text-generation-inference
  /is too long for requested model|exceeded model token limit|context window exceeds/i, // Bedrock, Kimi, MiniMax
]

/** This single request exceeds the limit of tokens per minute, so waiting doesn't help. */
const TOO_LARGE_AT_ONCE = /request too large/i

const LIMITS = [
  /maximum (?:context|prompt|model) length (?:is|of) (\d+)/i,
  /tokens > (\d+) maximum/i,
  /exceed context limit: \d+ \+ \d+ > (\d+)/i,
  /maximum number of tokens allowed \((\d+)\)/i,
  /must be <= (\d+)/i,
  /"n_ctx":\s*(\d+)/i,
  /request too large .{0,200}limit:? (\d+)/is,
]

/** The prompt was too long. `max_tokens` is the model's limit, if the refusal contains it. */
export type PromptRefusal = { max_tokens: number | undefined }

/** Recognizes a prompt that was too long. `status` is undefined if the refusal came inside a stream. */
export function promptRefusal(status: number | undefined, text: string): PromptRefusal | undefined {
  const isTooLong = status === 429 ? TOO_LARGE_AT_ONCE.test(text) : TOO_LONG.some((pattern) => pattern.test(text))
  if (!isTooLong && status !== 413) return undefined
  const limit = LIMITS.map((pattern) => Number(pattern.exec(text)?.[1])).find((tokens) => tokens > 0)
  return { max_tokens: limit }
}
