import * as z from 'zod';

/**
 * Queue `uploads`: what the report bucket says of new objects (S3's own event; its test event has no
 * records). Keys are URL-encoded. Repeats are harmless.
 */
export const ObjectsCreated = z.object({
  Records: z.array(z.object({ s3: z.object({ object: z.object({ key: z.string() }) }) })).default([]),
});
export type ObjectsCreated = z.infer<typeof ObjectsCreated>;
