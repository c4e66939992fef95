import * as z from 'zod';

/** Queue `exports`: "write the file of this export". Repeats are harmless. */
export const ExportRequested = z.object({ org_id: z.uuid(), export_id: z.uuid() });
export type ExportRequested = z.infer<typeof ExportRequested>;
