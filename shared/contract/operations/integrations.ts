import * as z from 'zod';
import { declareGroup } from '../operation.ts';
import { Deleted, optionalPageQuery, Uuid } from '../schemas/common.ts';
import {
  IntegrationCreate,
  IntegrationCreated,
  IntegrationRead,
  IntegrationUpdate,
} from '../schemas/integrations.ts';

const org = z.object({ org_id: Uuid });
const integration = z.object({ org_id: Uuid, integration_id: Uuid });

export const integrations = declareGroup('integrations', {
  listIntegrations: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/integrations',
    summary: 'Integrations of the organization',
    permission: 'projects:read',
    params: org,
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(IntegrationRead) },
    errors: [],
  },
  createIntegration: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/integrations',
    summary: 'Connect an integration; what it is given as secrets never comes out again',
    permission: 'admin',
    params: org,
    body: IntegrationCreate,
    response: { status: 200, schema: IntegrationCreated },
    errors: ['already_exists'],
  },
  getIntegration: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/integrations/{integration_id}',
    summary: 'One integration',
    permission: 'projects:read',
    params: integration,
    response: { status: 200, schema: IntegrationRead },
    errors: [],
  },
  updateIntegration: {
    family: 'A',
    method: 'PATCH',
    path: '/api/orgs/{org_id}/integrations/{integration_id}',
    summary: 'Change name, configuration or secrets; its type stays',
    permission: 'admin',
    params: integration,
    body: IntegrationUpdate,
    response: { status: 200, schema: IntegrationRead },
    errors: ['already_exists', 'conflict'],
  },
  deleteIntegration: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}/integrations/{integration_id}',
    summary: 'Delete an integration and its secrets',
    permission: 'admin',
    params: integration,
    response: { status: 200, schema: Deleted },
    errors: ['conflict'],
  },
});
