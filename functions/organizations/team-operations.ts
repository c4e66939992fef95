import type { organizations } from '#contract/operations/organizations.ts';
import { notFound } from '#domain/errors.ts';
import { toOpaque } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { pageOf, sortEntries, wholeOrPage } from '#http/paging.ts';
import type { TeamRecord } from '#store/teams.ts';
import type { OrganizationDependencies } from './dependencies.ts';

type Operations = Pick<
  typeof organizations.operations,
  | 'listTeams'
  | 'createTeam'
  | 'getTeam'
  | 'updateTeam'
  | 'deleteTeam'
  | 'listOwnTeams'
  | 'listTeamMembers'
  | 'addTeamMember'
  | 'removeTeamMember'
  | 'listProjectMembers'
  | 'addProjectMember'
  | 'removeProjectMember'
>;

export const teamOperations: Implementations<Operations, OrganizationDependencies> = {
  async listTeams({ caller, query }, { teams }) {
    return wholeOrPage(sortEntries(await teams.list(caller.orgId), 'name'), query).map(present);
  },

  async createTeam(input, { teams, clock, ids }) {
    const { caller, body } = input;
    const team = { id: ids.next(), name: body.name, description: body.description ?? null };
    return present(await teams.create(caller.orgId, team, attributionOf(input, clock)));
  },

  async getTeam({ caller, params }, { teams }) {
    return present(await teams.require(caller.orgId, params.team_id));
  },

  async updateTeam(input, { teams, clock }) {
    const { caller, params, body } = input;
    const held = await teams.require(caller.orgId, params.team_id);
    return present(await teams.update(caller.orgId, held, body, attributionOf(input, clock)));
  },

  async deleteTeam(input, { teams, groups, clock }) {
    const { caller, params } = input;
    const held = await teams.require(caller.orgId, params.team_id);
    await teams.delete(caller.orgId, held, attributionOf(input, clock));
    await groups.removeEverybody(caller.orgId, { kind: 'team', id: held.id });
    return { id: held.id, deleted: true };
  },

  async listOwnTeams({ caller, query }, { teams }) {
    const { slice, pagination } = pageOf(
      sortEntries(await teams.list(caller.orgId), query.sort),
      query.page,
      query.per_page,
    );
    const data = slice.map((record) => ({
      ...present(record),
      id: toOpaque('team', record.id),
      org_id: toOpaque('organization', record.org_id),
    }));
    return { data, pagination };
  },

  async listTeamMembers({ caller, params, query }, { teams, groups }) {
    const [members] = await Promise.all([
      groups.list(caller.orgId, { kind: 'team', id: params.team_id }),
      teams.require(caller.orgId, params.team_id),
    ]);
    return wholeOrPage(members, query).map((member) => ({ team_id: params.team_id, ...member }));
  },

  async addTeamMember(input, { groups, clock }) {
    const { caller, params, body } = input;
    const group = { kind: 'team', id: params.team_id } as const;
    const added = await groups.add(caller.orgId, group, body.user_id, body.role, attributionOf(input, clock));
    return { team_id: params.team_id, ...added };
  },

  async removeTeamMember(input, { groups, clock }) {
    const { caller, params } = input;
    const group = { kind: 'team', id: params.team_id } as const;
    if (!(await groups.remove(caller.orgId, group, params.member_user_id, attributionOf(input, clock))))
      throw notFound('member');
    return { user_id: params.member_user_id, deleted: true };
  },

  async listProjectMembers({ caller, params, query }, { projects, groups }) {
    const [members] = await Promise.all([
      groups.list(caller.orgId, { kind: 'project', id: params.project_id }),
      projects.require(caller.orgId, params.project_id),
    ]);
    return wholeOrPage(members, query).map((member) => ({ project_id: params.project_id, ...member }));
  },

  async addProjectMember(input, { groups, clock }) {
    const { caller, params, body } = input;
    const group = { kind: 'project', id: params.project_id } as const;
    const added = await groups.add(caller.orgId, group, body.user_id, body.role, attributionOf(input, clock));
    return { project_id: params.project_id, ...added };
  },

  async removeProjectMember(input, { groups, clock }) {
    const { caller, params } = input;
    const group = { kind: 'project', id: params.project_id } as const;
    if (!(await groups.remove(caller.orgId, group, params.member_user_id, attributionOf(input, clock))))
      throw notFound('member');
    return { user_id: params.member_user_id, deleted: true };
  },
};

function present({ id, org_id, name, description, member_count, created_at }: TeamRecord) {
  return { id, org_id, name, description, member_count, created_at };
}
