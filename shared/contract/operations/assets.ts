import * as z from 'zod';
import { SCANNERS } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import {
  BranchName,
  listOf,
  opaqueIdInput,
  optionalPageQuery,
  pageQuery,
  text,
  Uuid,
} from '../schemas/common.ts';
import { ASSET_TYPES, Asset, CRITICALITIES, RepositoryRead, Scan } from '../schemas/records.ts';

const assetParams = z.object({ asset_id: opaqueIdInput('asset') });

export const assets = declareGroup('assets', {
  listRepositories: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/repositories',
    summary: 'Repositories and other assets of the organization',
    permission: 'projects:read',
    params: z.object({ org_id: Uuid }),
    query: z.object({ ...optionalPageQuery, project_id: Uuid.optional() }),
    response: { status: 200, schema: z.array(RepositoryRead) },
    errors: [],
  },
  addRepository: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/repositories/add',
    summary: 'Add a repository or another asset by hand',
    permission: 'projects:write',
    params: z.object({ org_id: Uuid }),
    body: z.object({
      name: text(300),
      type: z.enum(ASSET_TYPES).default('repository'),
      url: text(2000).nullish(),
      default_branch: BranchName.nullish(),
      project_id: Uuid.nullish(),
    }),
    response: { status: 200, schema: RepositoryRead },
    errors: ['already_exists', 'conflict', 'validation_error'],
  },
  listAssets: {
    family: 'B',
    method: 'GET',
    path: '/api/assets',
    summary: 'Assets of the organization',
    permission: 'projects:read',
    query: z.object({
      ...pageQuery,
      sort: z.enum(['name', '-name', 'created_at', '-created_at']).default('name'),
      project_id: opaqueIdInput('project').optional(),
      type: z.enum(ASSET_TYPES).optional(),
    }),
    response: { status: 200, schema: listOf(Asset) },
    errors: [],
  },
  getAsset: {
    family: 'B',
    method: 'GET',
    path: '/api/assets/{asset_id}',
    summary: 'One asset',
    permission: 'projects:read',
    params: assetParams,
    response: { status: 200, schema: Asset },
    errors: [],
  },
  updateAsset: {
    family: 'B',
    method: 'PATCH',
    path: '/api/assets/{asset_id}',
    summary: 'Change name, criticality, tags or default branch',
    permission: 'projects:write',
    params: assetParams,
    body: z.object({
      name: text(300).optional(),
      criticality: z.enum(CRITICALITIES).optional(),
      tags: z.array(text(100)).max(50).optional(),
      default_branch: BranchName.nullish(),
    }),
    response: { status: 200, schema: Asset },
    errors: ['conflict'],
  },
  scanAsset: {
    family: 'B',
    method: 'POST',
    path: '/api/assets/{asset_id}/scan',
    summary: 'Scan one asset; all scanners of the deployment unless some are named',
    permission: 'scans:write',
    params: assetParams,
    body: z.object({
      scanners: z.array(z.enum(SCANNERS)).min(1).optional(),
      branch: BranchName.nullish(),
    }),
    bodyOptional: true,
    response: { status: 202, schema: Scan },
    errors: ['scan_already_running', 'scan_limit_exceeded', 'conflict'],
  },
});
