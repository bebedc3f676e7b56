import { ApiError } from '../../errors.ts'

export function badUpload(message: string): ApiError {
  return new ApiError('invalid_request', message)
}

export function tooLargeFile(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', `A file may have ${maxBytes} bytes (files.maxBytes)`)
}
