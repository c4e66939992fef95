import * as z from 'zod';

/** Queue `organization-deletions`: "go on with deleting this organization". Repeats are harmless. */
export const OrganizationDeleted = z.object({ org_id: z.uuid() });
export type OrganizationDeleted = z.infer<typeof OrganizationDeleted>;
