import * as z from 'zod';

/**
 * Queue `reevaluations`: "let the policies judge the findings of this asset, or (null) of the whole
 * organization, anew". Repeats are harmless.
 */
export const ReevaluationRequested = z.object({ org_id: z.uuid(), asset_id: z.uuid().nullable() });
export type ReevaluationRequested = z.infer<typeof ReevaluationRequested>;
