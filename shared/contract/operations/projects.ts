import * as z from 'zod';
import { declareGroup } from '../operation.ts';
import {
  clearableText,
  Deleted,
  deletedOf,
  listOf,
  opaqueIdInput,
  optionalPageQuery,
  pageQuery,
  text,
  Uuid,
} from '../schemas/common.ts';
import { Asset, Project, ProjectRead } from '../schemas/records.ts';

const projectParams = z.object({ project_id: opaqueIdInput('project') });
const sort = z.enum(['name', '-name', 'created_at', '-created_at']).default('name');
const projectListQuery = z.object({ ...pageQuery, sort, team_id: opaqueIdInput('team').optional() });

const org = z.object({ org_id: Uuid });
const orgProject = z.object({ org_id: Uuid, project_id: Uuid });

/** Bodies are the same in both families, but for how they write a team's id. */
function createBody(teamId: z.ZodType<string>) {
  return z.object({ name: text(200), description: clearableText(2000), team_id: teamId.nullish() });
}
function updateBody(teamId: z.ZodType<string>) {
  return z.object({
    name: text(200).optional(),
    description: clearableText(2000),
    team_id: teamId.nullish(),
  });
}
const ProjectCreate = createBody(Uuid).meta({ id: 'ProjectCreate' });
const ProjectUpdate = updateBody(Uuid).meta({ id: 'ProjectUpdate' });

export const projects = declareGroup('projects', {
  listOrgProjects: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/projects',
    summary: 'Top-level projects, or those of one team',
    permission: 'projects:read',
    params: org,
    query: z.object({ ...optionalPageQuery, team_id: Uuid.optional() }),
    response: { status: 200, schema: z.array(ProjectRead) },
    errors: [],
  },
  createOrgProject: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/projects',
    summary: 'Create a project',
    permission: 'projects:write',
    params: org,
    body: ProjectCreate,
    response: { status: 200, schema: ProjectRead },
    errors: ['already_exists'],
  },
  getOrgProject: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/projects/{project_id}',
    summary: 'One project',
    permission: 'projects:read',
    params: orgProject,
    response: { status: 200, schema: ProjectRead },
    errors: [],
  },
  updateOrgProject: {
    family: 'A',
    method: 'PATCH',
    path: '/api/orgs/{org_id}/projects/{project_id}',
    summary: 'Change name, description or team',
    permission: 'projects:write',
    params: orgProject,
    body: ProjectUpdate,
    response: { status: 200, schema: ProjectRead },
    errors: ['already_exists', 'conflict'],
  },
  deleteOrgProject: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}/projects/{project_id}',
    summary: 'Delete a project that has neither assets nor sub-projects',
    permission: 'projects:write',
    params: orgProject,
    response: { status: 200, schema: Deleted },
    errors: ['cannot_delete'],
  },
  listOrgSubProjects: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/projects/{project_id}/sub-projects',
    summary: 'Sub-projects of a project',
    permission: 'projects:read',
    params: orgProject,
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(ProjectRead) },
    errors: [],
  },
  createOrgSubProject: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/projects/{project_id}/sub-projects',
    summary: 'Create a sub-project; there is one level of them',
    permission: 'projects:write',
    params: orgProject,
    body: ProjectCreate,
    response: { status: 200, schema: ProjectRead },
    errors: ['already_exists', 'conflict'],
  },
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
    body: createBody(opaqueIdInput('team')),
    response: { status: 201, schema: Project },
    errors: ['already_exists', 'not_found'],
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
    summary: 'Change name, description or team',
    permission: 'projects:write',
    params: projectParams,
    body: updateBody(opaqueIdInput('team')),
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
    body: createBody(opaqueIdInput('team')),
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
    query: z.object({ ...pageQuery, sort }),
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
