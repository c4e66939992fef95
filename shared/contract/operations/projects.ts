import * as z from 'zod';
import { declareGroup } from '../operation.ts';
import { deletedOf, listOf, opaqueIdInput, pageQuery, text } from '../schemas/common.ts';
import { Asset, Project } from '../schemas/records.ts';

const projectParams = z.object({ project_id: opaqueIdInput('project') });
const projectListQuery = z.object({
  ...pageQuery,
  sort: z.enum(['name', '-name', 'created_at', '-created_at']).default('name'),
});
const ProjectCreate = z.object({
  name: text(200),
  description: text(2000).nullish(),
});

export const projects = declareGroup('projects', {
  listProjects: {
    family: 'B',
    method: 'GET',
    path: '/api/projects',
    summary: 'Top-level projects',
    permission: 'projects:read',
    query: projectListQuery,
    response: { status: 200, schema: listOf(Project) },
    errors: [],
  },
  createProject: {
    family: 'B',
    method: 'POST',
    path: '/api/projects',
    summary: 'Create a project',
    permission: 'projects:write',
    body: ProjectCreate,
    response: { status: 201, schema: Project },
    errors: ['already_exists'],
  },
  getProject: {
    family: 'B',
    method: 'GET',
    path: '/api/projects/{project_id}',
    summary: 'One project',
    permission: 'projects:read',
    params: projectParams,
    response: { status: 200, schema: Project },
    errors: [],
  },
  updateProject: {
    family: 'B',
    method: 'PATCH',
    path: '/api/projects/{project_id}',
    summary: 'Change name or description',
    permission: 'projects:write',
    params: projectParams,
    body: z.object({ name: text(200).optional(), description: text(2000).nullish() }),
    response: { status: 200, schema: Project },
    errors: ['already_exists', 'conflict'],
  },
  deleteProject: {
    family: 'B',
    method: 'DELETE',
    path: '/api/projects/{project_id}',
    summary: 'Delete a project that has neither assets nor sub-projects',
    permission: 'projects:write',
    params: projectParams,
    response: { status: 200, schema: deletedOf('project') },
    errors: ['cannot_delete'],
  },
  listSubProjects: {
    family: 'B',
    method: 'GET',
    path: '/api/projects/{project_id}/sub-projects',
    summary: 'Sub-projects of a project',
    permission: 'projects:read',
    params: projectParams,
    query: projectListQuery,
    response: { status: 200, schema: listOf(Project) },
    errors: [],
  },
  createSubProject: {
    family: 'B',
    method: 'POST',
    path: '/api/projects/{project_id}/sub-projects',
    summary: 'Create a sub-project; there is one level of them',
    permission: 'projects:write',
    params: projectParams,
    body: ProjectCreate,
    response: { status: 201, schema: Project },
    errors: ['already_exists', 'conflict'],
  },
  listProjectAssets: {
    family: 'B',
    method: 'GET',
    path: '/api/projects/{project_id}/assets',
    summary: 'Assets of a project, those of its sub-projects included',
    permission: 'projects:read',
    params: projectParams,
    query: z.object({
      ...pageQuery,
      sort: z.enum(['name', '-name', 'created_at', '-created_at']).default('name'),
    }),
    response: { status: 200, schema: listOf(Asset) },
    errors: [],
  },
  assignProjectAssets: {
    family: 'B',
    method: 'POST',
    path: '/api/projects/{project_id}/assets',
    summary: 'Assign assets to the project; each leaves the project it was in',
    permission: 'projects:write',
    params: projectParams,
    body: z.object({ asset_ids: z.array(opaqueIdInput('asset')).min(1).max(100) }),
    response: { status: 200, schema: listOf(Asset) },
    errors: ['conflict'],
  },
});
