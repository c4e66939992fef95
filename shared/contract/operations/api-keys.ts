import * as z from 'zod';
import { PERMISSIONS } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import { optionalPageQuery, text, Uuid } from '../schemas/common.ts';
import { OrgApiKeyCreated, OrgApiKeyRead } from '../schemas/records.ts';

const org = z.object({ org_id: Uuid });

export const apiKeys = declareGroup('api-keys', {
  listApiKeys: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/api-keys',
    summary: 'API keys of the organization',
    permission: 'admin',
    params: org,
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(OrgApiKeyRead) },
    errors: [],
  },
  createApiKey: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/api-keys',
    summary: 'Create an API key; the key itself is in this answer alone',
    permission: 'admin',
    params: org,
    body: z.object({
      name: text(100),
      scopes: z.array(z.enum(PERMISSIONS)).min(1).max(PERMISSIONS.length),
      expires_at: z.iso.datetime({ offset: true }).nullish(),
    }),
    response: { status: 200, schema: OrgApiKeyCreated },
    errors: [],
  },
  revokeApiKey: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}/api-keys/{key_id}',
    summary: 'Revoke an API key: the very next request with it is refused',
    permission: 'admin',
    params: z.object({ org_id: Uuid, key_id: Uuid }),
    response: { status: 200, schema: OrgApiKeyRead },
    errors: [],
  },
});
