/** How providers and servers refer to images in an error. */
const ABOUT_IMAGES = /\bimages?\b|image_url|\bvision\b|multi-?modal|\bmedia\b|\bdocument\b|content type|content part/i

/** Errors that mean that the model accepts no images at all: OpenAI, vLLM, Ollama, OpenRouter, llama.cpp, DeepSeek. */
const TAKES_NONE =
  /support|multi-?modal|\bvision\b|unknown variant|only text|missing data required for image|must be a string|mmproj/i

const TOO_LARGE = 413
const REFUSALS = new Set([400, 404, 415, 422, 500, 501])

/** Whether a request with images was refused because of them. `status` is undefined inside a stream. */
export function imageRefusal(status: number | undefined, reason: string): 'these' | 'all' | undefined {
  if (status === TOO_LARGE) return 'these'
  if (status === undefined || !REFUSALS.has(status)) return undefined
  if (!ABOUT_IMAGES.test(reason) && !/must be a string/i.test(reason)) return undefined
  return TAKES_NONE.test(reason) && !/unsupported image|image (?:format|type)/i.test(reason) ? 'all' : 'these'
}
