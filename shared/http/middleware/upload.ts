import { ServiceError } from '#domain/errors.ts';
import type { ChainMiddleware } from '../request-state.ts';

/** Takes the body of operations that are sent a file, as it is; bounded alike on every platform (design 5). */
export function upload(): ChainMiddleware {
  return {
    before: ({ event, context: { state } }) => {
      const declared = state.operation?.upload;
      if (!declared) return;
      const bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
      if (bytes.length > declared.maximumBytes)
        throw new ServiceError(
          'payload_too_large',
          `The body is larger than ${declared.maximumBytes / 1024 / 1024} MB; ${declared.wayOut}`,
        );
      state.upload = bytes;
    },
  };
}
