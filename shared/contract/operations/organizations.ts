import * as z from 'zod';
import { declareGroup } from '../operation.ts';
import { Uuid } from '../schemas/common.ts';
import { OrgRead } from '../schemas/records.ts';

export const organizations = declareGroup('organizations', {
  getOrganization: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}',
    summary: 'One organization',
    permission: 'projects:read',
    params: z.object({ org_id: Uuid }),
    response: { status: 200, schema: OrgRead },
    errors: [],
  },
});
