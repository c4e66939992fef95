import * as z from 'zod';

/** Queue `deletions`: "go on with deleting this". Repeats are harmless. */
export const DeletionRequested = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('organization'), org_id: z.uuid() }),
  z.object({ kind: z.literal('asset'), org_id: z.uuid(), asset_id: z.uuid() }),
  z.object({ kind: z.literal('scan'), org_id: z.uuid(), scan_id: z.uuid() }),
]);
export type DeletionRequested = z.infer<typeof DeletionRequested>;
