import { ApiError } from '../../errors.ts'

export function badUpload(message: string): ApiError {
  return new ApiError('invalid_request', message)
}
